/**
 * The schema of a project.
 *
 * @module
 */
import { isAbsolute } from "node:path";
import { z } from "zod";
import { engineSettingsSchema } from "../engines/settings.ts";
import { withoutFields } from "../platform/objects.ts";
import { describeValue } from "../platform/schema/describe.ts";
import { parseInput } from "../platform/schema/nulls.ts";
import { hideUserInfo, isBaseUrl } from "../platform/network/urls.ts";
import type { Project } from "../store/records/projects.ts";
import { RECORD_BYTES_MAX, recordBytes } from "../store/records/record_size.ts";
import { projectSecretsSchema } from "../project_secrets/schema.ts";
import { retentionSchema } from "../runs/retention_schema.ts";
import { nameSchema } from "../projects/name_schema.ts";
import { HOST_KINDS } from "../projects/code/host/kinds.ts";
import { addressProblem, isRelativePath, isSshAddress } from "../projects/code/remote.ts";

const ADDRESS_LENGTH_MAX = 2_048;
/** A record with it has room for the rest. */
const CONFIG_LENGTH_MAX = 48 * 1024;
/** The fields that the service fills in: what was read can be written back. */
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
  source: z.enum(["mirror", ...HOST_KINDS, "https"]).describe(
    "How the service reads the repository: mirror (git keeps a copy in the data folder), github, gitlab or gitea " +
      "(the API of the host; the code is fetched by the job), or https (any remote, without git). By default mirror; " +
      "where the service has no git, the API of a well-known host, or https",
  ).exactOptional(),
  api_url: z.string().max(2_048).refine(isBaseUrl, {
    error: "Expected a URL such as https://git.example.com/api/v1",
  }).describe("The base of the host's API, where it is not the usual one").exactOptional(),
  config_file: z.string().min(1).max(512).default("valohai.yaml")
    .describe("The project configuration file, relative to the repository or the folder"),
  config: z.string().min(1).max(CONFIG_LENGTH_MAX).describe(
    "The content of the project configuration file, in place of a file. Without a repository, steps have no code but " +
      "that of their images",
  ).exactOptional(),
  retention: retentionSchema.exactOptional(),
  engine: engineSettingsSchema.default({ type: "local", runner: "process" }),
  secrets: projectSecretsSchema.exactOptional(),
}).refine(
  ({ repository, directory, config }) =>
    [repository, directory].filter((place) => place !== undefined).length ===
      (config !== undefined && repository === undefined ? 0 : 1),
  {
    error: ({ input }) => {
      const { repository, directory, config } = Object(input);
      if (config !== undefined && directory !== undefined) {
        return "Expected config alone or with a repository, found it with a directory: a folder has the file itself";
      }
      return "Expected either repository or directory, found " +
        (repository === undefined ? "neither (a project without code has config)" : "both");
    },
  },
).check(({ value, issues }) => {
  const wrong = wrongSource(value);
  if (wrong === undefined) return;
  issues.push({ code: "custom", path: [wrong[0]], message: wrong[1], input: value });
}).refine(
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

/** Returns the field of a source that does not fit to the others, and a sentence about it. */
function wrongSource(
  { repository, source, api_url }: { repository?: string; source?: string; api_url?: string },
): [field: string, sentence: string] | undefined {
  const isHost = HOST_KINDS.some((kind) => kind === source);
  if (api_url !== undefined && !isHost) {
    return ["api_url", `Expected it together with source: ${HOST_KINDS.join(", ")}`];
  }
  if (source === undefined || source === "mirror" && repository !== undefined) return undefined;
  if (repository === undefined) return ["source", "Expected it together with a repository"];
  if (!/^https?:\/\//i.test(repository)) {
    return ["source", `Expected mirror, as only https addresses are read by "${source}"`];
  }
  return undefined;
}

/**
 * Reads a project.
 *
 * @throws {InvalidInputError} with everything that is wrong with it
 */
export function parseProject(value: unknown): Project {
  const project = parseInput(projectSchema, withoutFields(value, READ_ONLY), "the project");
  if ((Object(value).engine ?? undefined) === undefined) withoutEngine.add(project);
  return project;
}

/** Returns true for a project that {@linkcode parseProject} has read, and that names its engine. */
export function namesEngine(project: Project): boolean {
  return !withoutEngine.has(project);
}
