/**
 * The configuration file, `hooklaunch.yaml`: projects and triggers as their owner writes them.
 *
 * @module
 */
import { dirname, isAbsolute, resolve } from "node:path";
import { z } from "zod";
import { parseS3Location } from "../artifacts/s3/location.ts";
import { type BackupSettings, parseBackup } from "../backup/scheduled/settings.ts";
import { ConflictError, InvalidInputError, prefixed, type Problem } from "../platform/errors.ts";
import { parseLoginProviders } from "../logins/settings.ts";
import { parseNotifier } from "../notifications/schema.ts";
import type { NotifierSettings } from "../store/records/notifiers.ts";
import { parseProject } from "./project.ts";
import { isRelativePath } from "../projects/code/remote.ts";
import { parseInput } from "../platform/schema/nulls.ts";
import { pointer } from "../platform/schema/pointer.ts";
import type { LoginProvider } from "../store/records/login_providers.ts";
import type { Project } from "../store/records/projects.ts";
import { reviewTrigger } from "../triggers/review.ts";
import { withoutReadOnly } from "../triggers/read_only.ts";
import { triggerSchema, type TriggerSettings } from "../triggers/trigger.ts";
import { parseYaml, type YamlSource } from "../platform/yaml/parse.ts";

const FOUND_LIST =
  "Expected `projects` and `triggers`, found a list, as a project configuration file has it";

const documentSchema = z.strictObject({
  storage: z.string().exactOptional(),
  backup: z.unknown().optional(),
  oidc: z.unknown().optional(),
  projects: z.array(z.unknown()).default([]),
  triggers: z.array(z.unknown()).default([]),
  notifications: z.array(z.unknown()).default([]),
});

/** The content of a configuration file, checked. */
export interface ConfigDocument {
  /** The artifact store, which a service opens when it starts. */
  storage?: string;
  /** The scheduled backups, which a service begins when it starts. */
  backup?: BackupSettings;
  /** The identity providers at which people log in. */
  oidc: LoginProvider[];
  /** Returns the JSON Pointer of a provider in the file. */
  loginAt(index: number): string;
  projects: Project[];
  triggers: TriggerSettings[];
  /** The notifiers: what is told to whom. */
  notifications: NotifierSettings[];
  /** Makes a handler that throws an error of the service again, with the line and column of the element that it is about. */
  located(
    list: "projects" | "triggers" | "notifications",
    index: number,
  ): (error: unknown) => never;
  /** Adds the line and column in the file to problems of the value at a JSON Pointer. */
  place(at: string, problems: readonly Problem[]): Problem[];
}

/**
 * Reads a configuration file.
 *
 * @param path the file, for errors
 * @param folder the folder that relative paths in it start at
 * @throws {InvalidInputError} with every problem, each with its line and column
 */
export function parseConfig(
  written: string | Uint8Array,
  path: string,
  folder = dirname(path),
): ConfigDocument {
  const yaml = parseYaml(written, path);
  const problems: Problem[] = [];
  const collect = <T>(at: string, read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      // One by one: there may be more problems than a call may have arguments.
      for (const problem of placed(yaml, at, error.problems)) problems.push(problem);
      return undefined;
    }
  };
  const lists = collect("", () => {
    if (!Array.isArray(yaml.value)) return parseInput(documentSchema, yaml.value ?? {}, path);
    throw new InvalidInputError(path, [{ pointer: "", detail: FOUND_LIST }]);
  });
  const storage = lists?.storage;
  if (storage !== undefined && !isAbsolute(storage)) {
    collect("/storage", () => parseS3Location(storage, () => undefined));
  }
  const writtenBackup = lists?.backup ?? undefined;
  const backup = writtenBackup === undefined
    ? undefined
    : collect("/backup", () => parseBackup(writtenBackup, folder));
  const writtenLogins = lists?.oidc ?? undefined;
  const oidc = writtenLogins === undefined
    ? []
    : collect("/oidc", () => parseLoginProviders(writtenLogins));
  const projects = (lists?.projects ?? []).map((value, index) =>
    collect(pointer("projects", index), () => readProject(value, folder))
  );
  const triggers = (lists?.triggers ?? []).map((value, index) =>
    collect(pointer("triggers", index), () => readTrigger(value))
  );
  const notifications = (lists?.notifications ?? []).map((value, index) =>
    collect(pointer("notifications", index), () => parseNotifier(value))
  );
  const unique: [list: string, field: string, values: (string | undefined)[]][] = [
    ["projects", "name", projects.map((project) => project?.name)],
    ["triggers", "name", triggers.map((trigger) => trigger?.name)],
    ["triggers", "id", triggers.map((trigger) => trigger?.id)],
    ["notifications", "name", notifications.map((notifier) => notifier?.name)],
  ];
  for (const [list, field, values] of unique) {
    for (const [index, value] of repeated(values)) {
      const at = pointer(list, index, field);
      const expected = `Expected a unique ${field}`;
      const detail = `${expected}, found "${value}" a second time`;
      problems.push(...yaml.located([{ pointer: at, detail }]));
    }
  }
  if (problems.length > 0) throw new InvalidInputError(path, problems);
  return {
    ...(storage !== undefined && { storage }),
    ...(backup !== undefined && { backup }),
    oidc: oidc ?? [],
    loginAt: (index) => Array.isArray(writtenLogins) ? pointer("oidc", index) : "/oidc",
    projects: projects.filter((project) => project !== undefined),
    triggers: triggers.filter((trigger) => trigger !== undefined),
    notifications: notifications.filter((notifier) => notifier !== undefined),
    place: (at, problems) => placed(yaml, at, problems),
    located: (list, index) => (error) => {
      const isConflict = error instanceof ConflictError;
      if (!isConflict && !(error instanceof InvalidInputError)) throw error;
      const problems = isConflict ? [{ pointer: "", detail: error.message }] : error.problems;
      throw new InvalidInputError(path, placed(yaml, pointer(list, index), problems));
    },
  };
}

function readProject(value: unknown, folder: string): Project {
  const given = projectInFile.safeParse(value);
  if (!given.success) return parseProject(value);
  const project = { ...given.data };
  const { directory, repository } = project;
  if (directory) project.directory = resolve(folder, directory);
  if (repository && isRelativePath(repository)) project.repository = resolve(folder, repository);
  return parseProject(project);
}

/** Paths in a file may be relative to the file. */
const projectInFile = z.looseObject({
  directory: z.string().exactOptional(),
  repository: z.string().exactOptional(),
});

function readTrigger(value: unknown): TriggerSettings {
  const settings = parseInput(triggerSchema, withoutReadOnly(value), "the trigger");
  reviewTrigger(settings);
  return settings;
}

function* repeated(
  values: readonly (string | undefined)[],
): Generator<[index: number, value: string]> {
  const before = new Set<string>();
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
    if (before.has(value)) yield [index, value];
    before.add(value);
  }
}

/** Adds the line and column to problems of the value at a place in the file. */
function placed(yaml: YamlSource, at: string, problems: readonly Problem[]): Problem[] {
  return yaml.located(prefixed(at, problems));
}
