/**
 * The schema of a project.
 *
 * @module
 */
import { isAbsolute } from "node:path";
import { z } from "zod";
import { engineSettingsSchema } from "../engines/settings.ts";
import { describeValue } from "../platform/schema/describe.ts";
import { parseInput } from "../platform/schema/nulls.ts";
import { hideUserInfo } from "../platform/network/urls.ts";
import type { Project } from "../store/records/projects.ts";
import { RECORD_BYTES_MAX, recordBytes } from "../store/records/record_size.ts";
import { projectSecretsSchema } from "../project_secrets/schema.ts";
import { nameSchema } from "../projects/name_schema.ts";
import { addressProblem, isRelativePath, isSshAddress } from "../projects/code/remote.ts";

const ADDRESS_LENGTH_MAX = 2_048;
const READ_ONLY = ["revision", "warnings"];

/** An error about an address must not show the password in it. */
const addressSchema = z.string().check(({ value, issues }) => {
  const expected = value.length > ADDRESS_LENGTH_MAX
    ? `at most ${ADDRESS_LENGTH_MAX} characters`
    : addressProblem(value);
  if (expected === undefined) return;
  issues.push({ code: "custom", message: `Expected ${expected}`, input: hideUserInfo(value) });
}).meta({
  minLength: 1,
  maxLength: ADDRESS_LENGTH_MAX,
  description:
    "Anything that git can fetch: https://…, ssh://…, git@host:path, file:///… or an absolute path. " +
    "A credential is an environment variable of the service, as in https://user:{env:GIT_TOKEN}@…",
});

/** A project as its owner writes it: a repository or a folder, and the engine its work runs on. */
export const projectSchema = z.strictObject({
  name: nameSchema,
  repository: addressSchema.exactOptional(),
  deploy_key: z.string().min(1).max(2_048).refine(
    (path) => isAbsolute(path) && !/\p{Cc}/u.test(path),
    { error: "Expected the absolute path of a private key file" },
  ).meta({ pattern: "^/[^\\x00-\\x1f\\x7f-\\x9f]*$" })
    .describe("The absolute path of the private key file for a repository that ssh opens")
    .exactOptional(),
  directory: z.string().min(1).max(2_048).refine(isAbsolute, {
    error: "Expected an absolute path",
  }).meta({ pattern: "^/" }).describe("The absolute path of a plain folder").exactOptional(),
  config_file: z.string().min(1).max(512).default("valohai.yaml")
    .describe("The project configuration file, relative to the repository or the folder"),
  engine: engineSettingsSchema.default({ type: "local", runner: "process" }),
  secrets: projectSecretsSchema.exactOptional(),
}).refine(
  ({ repository, directory }) => (repository === undefined) !== (directory === undefined),
  {
    error: ({ input }) =>
      "Expected either repository or directory, found " +
      (Object(input).repository === undefined ? "neither" : "both"),
  },
).refine(
  ({ repository = "", deploy_key }) => deploy_key === undefined || isSshAddress(repository),
  {
    error: ({ input }) =>
      'Expected no deploy_key without a repository that ssh opens, such as "git@host:x.git", found ' +
      (Object(input).repository === undefined
        ? "a directory"
        : describeValue(Object(input).repository)),
    path: ["deploy_key"],
  },
).check(({ value: { repository }, issues }) => {
  if (repository === undefined || !isRelativePath(repository)) return;
  const message = "Expected a URL, host:path or an absolute path";
  issues.push({ code: "custom", message, path: ["repository"], input: repository });
}).refine((project) => recordBytes(project) <= RECORD_BYTES_MAX, {
  error: ({ input }) =>
    `Expected at most ${RECORD_BYTES_MAX} bytes in all, found ${recordBytes(Object(input))}`,
});

/** The projects that were read and named no engine. */
const withoutEngine = new WeakSet<Project>();

/**
 * Reads a project.
 *
 * @throws {InvalidInputError} with everything that is wrong with it
 */
export function parseProject(value: unknown): Project {
  const project = parseInput(projectSchema, withoutReadOnly(value), "the project");
  if ((Object(value).engine ?? undefined) === undefined) withoutEngine.add(project);
  return project;
}

/** Returns true for a project that {@linkcode parseProject} has read, and that names its engine. */
export function namesEngine(project: Project): boolean {
  return !withoutEngine.has(project);
}

/** Leaves out the fields that the service fills in: what was read can be written back. */
function withoutReadOnly(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => !READ_ONLY.includes(name)),
  );
}
