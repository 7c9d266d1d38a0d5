/**
 * The records of projects.
 *
 * @module
 */
import { keys } from "./keys.ts";
import type { Store } from "./store.ts";

/** A project as it is stored: exactly what its owner wrote, defaults filled in. */
export interface Project {
  /** Unique; letters, digits, `.`, `_` and `-`. */
  name: string;
  /** Anything that git can fetch; either this or `directory`. */
  repository?: string;
  /** The path of the private key that opens the repository. */
  deploy_key?: string;
  /** A plain folder. */
  directory?: string;
  /** The project configuration file, relative to the repository. */
  config_file: string;
  engine: EngineSettings;
}

/** The settings of an engine, as its own schema gives them. */
export interface EngineSettings {
  type: string;
  [setting: string]: unknown;
}

/**
 * What was read of each database's projects, until one of them changes. A database has one process, so
 * what is kept stays true.
 */
const known = new WeakMap<Store, Map<string, Project>>();

/** Reads a project; undefined when there is none of this name. */
export async function getProject(store: Store, name: string): Promise<Project | undefined> {
  const projects = known.get(store) ?? new Map<string, Project>();
  known.set(store, projects);
  const kept = projects.get(name);
  if (kept) return kept;
  const { value } = await store.kv.get<Project>(keys.project(name));
  // When a project has changed meanwhile, nobody looks into this map any more.
  if (value !== null) projects.set(name, value);
  return value ?? undefined;
}

/** All projects, by name. */
export async function listProjects(store: Store): Promise<Project[]> {
  const found: Project[] = [];
  for await (const { value } of store.kv.list<Project>({ prefix: ["project"] })) found.push(value);
  return found;
}

/** Stores a project in place of the one of its name. */
export async function putProject(store: Store, project: Project): Promise<void> {
  const { name } = project;
  await store.committer.write([{ key: keys.project(name), value: project, bytes: 8_192 }]);
  known.delete(store);
}

/** Removes a project's record. */
export async function deleteProject(store: Store, name: string): Promise<void> {
  await store.committer.write([{ key: keys.project(name) }]);
  known.delete(store);
}
