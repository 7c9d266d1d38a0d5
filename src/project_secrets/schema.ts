/**
 * The schema of a project's secrets.
 *
 * @module
 */
import { z } from "zod";
import { standsForSecret } from "../conditions/secret.ts";
import { secretTextSchema, unquoted } from "../conditions/settings.ts";
import { nameSchema } from "../projects/name_schema.ts";
import { LENGTH_MIN, shortProblem } from "./length.ts";

/** Limit of a literal. More fits into a file. */
const LITERAL_CHARACTERS_MAX = 32 * 1024;
const SECRETS_MAX = 64;
const BRANCHES_MAX = 32;

/** The schema of the value of a project's secret. */
export const secretValueSchema = secretTextSchema(LITERAL_CHARACTERS_MAX)
  .refine((text) => !text.includes("\0"), {
    error: "Expected a text without NUL: encode bytes, such as in base64",
  })
  .refine((text) => standsForSecret(text) || text.trim().length >= LENGTH_MIN, {
    error: ({ input }) => shortProblem(String(input)),
  })
  .describe("A literal of 8 characters or more, {env:NAME} or {file:/absolute/path}");

/** The schema of the branches that a secret is for. */
export const branchesSchema = z.array(
  z.string().min(1).max(256).regex(/^[!-~\xa1-\uffff]+$/, {
    error: 'Expected the name of a branch, or a pattern such as "release/*"',
  }),
).min(1, { error: 'Expected one or more branches; "*" stands for all' }).max(BRANCHES_MAX).describe(
  "The branches whose commits get it, with * for any characters. Default: the default branch of the repository. " +
    "A folder has no branches: it gets every secret",
);

/** The schema of the secrets of a project. */
export const projectSecretsSchema = z.array(
  z.strictObject({
    name: nameSchema.describe("Unique in the project. Steps name it as {secret:NAME}"),
    value: secretValueSchema,
    branches: branchesSchema.exactOptional(),
    fingerprint: z.string().max(64).exactOptional().describe("Shown with a literal"),
  }, { error: unquoted }),
).max(SECRETS_MAX).refine(
  (secrets) => new Set(secrets.map(({ name }) => name)).size === secrets.length,
  { error: "Expected unique names of secrets, found one twice" },
).describe(
  "Secrets that the project's steps may name. Left out, the stored ones stay; an empty list removes them",
);
