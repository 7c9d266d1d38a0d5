/**
 * The records of projects.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { ConflictError } from "../../platform/errors.ts";
import { expectNewName } from "../../platform/new_name.ts";
import { likenessOf } from "../../platform/text/likeness.ts";
import { keys } from "../keys.ts";
import { namedRecordOf } from "../read/lists.ts";
import { isStored, readValue, scan } from "../read/scan.ts";
import { recordWrite } from "./record_size.ts";
import { type Store, storesAsLeader } from "../store.ts";

/** A secret of a project. */
export interface ProjectSecret {
  /** Unique in its project. */
  name: string;
  /** In the database encrypted, unless it is `{env:NAME}` or `{file:PATH}`. */
  value: string;
  /** Patterns of the branches that it is for. Default: the repository's own default. */
  branches?: string[];
}

/** A project as it is stored: what its owner wrote, defaults filled in, and its revision. */
export interface Project {
  /** Unique; letters, digits, `.`, `_` and `-`. */
  name: string;
  /** Anything that git can fetch; either this or `directory`, or neither beside `config`. */
  repository?: string;
  /** The path of the private key that opens the repository. */
  deploy_key?: string;
  /** A plain folder. */
  directory?: string;
  /** The way in which the service reads the repository; it decides when absent. */
  source?: "mirror" | "github" | "gitlab" | "gitea" | "https";
  /** The base of the host's API, where it is not the usual one. */
  api_url?: string;
  /** The project configuration file, relative to the repository. */
  config_file: string;
  /** The content of the project configuration file, in place of a file. */
  config?: string;
  engine: EngineSettings;
  /** The secrets that its steps may name, in the order of their names. */
  secrets?: ProjectSecret[];
  /** The time for which what is kept of its triggers stays, by kind; that of the service when absent. */
  retention?: { records?: string; payloads?: string; logs?: string; outputs?: string };
  /** See {@linkcode revisionOf}. */
  revision?: number;
}

/** The settings of an engine, as its own schema gives them. */
export interface EngineSettings {
  type: string;
  [setting: string]: unknown;
}

/** The cached projects of each database, until one of them changes. */
const known = new WeakMap<Store, Map<string, Project>>();

/** Reads a project; undefined when there is none of this name, or its record is damaged. */
export async function getProject(store: Store, name: string): Promise<Project | undefined> {
  // The leader alone changes projects, and nothing tells others of that.
  const isTold = storesAsLeader(store);
  const projects = isTold && known.get(store) || new Map<string, Project>();
  if (isTold) known.set(store, projects);
  const kept = projects.get(name);
  if (kept) return kept;
  const key = keys.project(name);
  const project = namedRecordOf<Project>({ key, value: await readValue(store.kv, key) });
  // When a project has changed meanwhile, nobody looks into this map any more.
  if (project) projects.set(name, project);
  return project;
}

/** All projects, by name; those whose records are damaged are left out. */
export async function listProjects(store: Store): Promise<Project[]> {
  const found: Project[] = [];
  for await (const entry of scan(store.kv, ["project"])) {
    const project = namedRecordOf<Project>(entry);
    if (project) found.push(project);
  }
  return found;
}

/** Returns true when a project of this name is stored, even a damaged one. */
export function hasProject(store: Store, name: string): Promise<boolean> {
  return isStored(store.kv, keys.project(name));
}

/** Stores a project in place of the one of its name, if it differs from that. Returns what is stored then. */
export async function putProject(store: Store, project: Project): Promise<Project> {
  const before = await getProject(store, project.name);
  const stored = await nextProject(store, before, project);
  if (stored === before) return before;
  await store.committer.write([recordWrite(keys.project(project.name), stored)]);
  known.delete(store);
  return stored;
}

/**
 * Returns what is stored of a project in place of what is stored now: the same, where nothing differs.
 *
 * @throws {InvalidInputError} when it is new, and its name looks like an id
 * @throws {ConflictError} when it is new, and its name looks like that of another one
 */
export async function nextProject(
  store: Store,
  before: Project | undefined,
  project: Project,
): Promise<Project> {
  const settings = projectSettings(project);
  if (before === undefined) {
    expectNewName("the project", project.name);
    await expectUnlikeOthers(store, project.name);
    return { ...settings, revision: 1 };
  }
  if (isDeepStrictEqual(projectSettings(before), settings)) return before;
  return { ...settings, revision: revisionOf(before) + 1 };
}

/** @throws {ConflictError} when people take the name for that of another project */
async function expectUnlikeOthers(store: Store, name: string): Promise<void> {
  const likeness = likenessOf(name);
  const other = (await listProjects(store)).find((each) => likenessOf(each.name) === likeness);
  if (other === undefined) return;
  throw new ConflictError(
    `Cannot save the project: "${name}" looks like the name of project "${other.name}"`,
  );
}

/** Returns the part of a project that its owner writes. */
export function projectSettings({ revision: _revision, ...settings }: Project): Project {
  return settings;
}

/** Returns the number of times that a record was saved. Records of earlier versions do not have it. */
export function revisionOf({ revision = 1 }: { revision?: number }): number {
  return revision;
}

/** Removes a project's record. */
export async function deleteProject(store: Store, name: string): Promise<void> {
  await store.committer.write([{ key: keys.project(name) }]);
  known.delete(store);
}
