/**
 * What a project is, as its owner writes it.
 *
 * @module
 */
import { isAbsolute } from "node:path";
import { z } from "zod";
import { engineSettingsSchema } from "../engines/settings.ts";
import { parseWith } from "../schema.ts";
import type { Project } from "../store/projects.ts";
import { nameSchema } from "./name.ts";

/** A project as its owner writes it: a repository or a folder, and the engine its work runs on. */
export const projectSchema = z.strictObject({
  name: nameSchema,
  /** Anything that git can fetch: `https://…`, `ssh://…`, `git@host:path`, `file:///…` or a path. */
  repository: z.string().min(1).max(2_048).optional(),
  /** The absolute path of a plain folder. */
  directory: z.string().min(1).max(2_048).refine(isAbsolute, {
    error: "Expected an absolute path",
  }).optional(),
  /** The project configuration file, relative to the repository. */
  config_file: z.string().min(1).max(512).default("valohai.yaml"),
  engine: engineSettingsSchema.default({ type: "local", runner: "process" }),
}).refine(
  ({ repository, directory }) => (repository === undefined) !== (directory === undefined),
  { error: "Expected either repository or directory" },
);

/**
 * Reads a project.
 *
 * @throws {InvalidInputError} with everything that is wrong with it
 */
export function parseProject(value: unknown): Project {
  const { name, repository, directory, config_file, engine } = parseWith(
    projectSchema,
    value,
    "the project",
  );
  return {
    name,
    ...(repository === undefined ? {} : { repository }),
    ...(directory === undefined ? {} : { directory }),
    config_file,
    engine,
  };
}
