/**
 * The schemas that the settings of several kinds share.
 *
 * @module
 */
import { z } from "zod";
import { refuseField } from "../platform/schema/schema.ts";
import { type Field, fieldError, HEADER_NAME, NOT_A_HEADER } from "./field.ts";
import { type SecretSetting, standsForSecret } from "./secret.ts";
import { nameSchema } from "../projects/name_schema.ts";

const NAME_CHARACTERS_MAX = 256;
const SECRET_CHARACTERS_MAX = 4096;
const SECRETS_MAX = 16;
const PUBLIC_KEY_CHARACTERS_MAX = 16_384;

/** Makes the schema of an object that refuses unknown fields. The error of `preset` says that the kind has none. */
export function settingsObject<Shape extends z.ZodRawShape>(
  shape: Shape,
): z.ZodObject<Shape, z.core.$strict> {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys" && issue.keys.includes("preset")
        ? "This type of condition has no presets"
        : undefined,
  });
}

/** The schema of a header's name. */
export const headerNameSchema = z.string().max(NAME_CHARACTERS_MAX).regex(HEADER_NAME, {
  error: NOT_A_HEADER,
});

/** The schema of {@linkcode Field.in}. */
export const fieldInSchema = z.enum(["header", "query", "body"]).describe(
  "The part of the request that carries the value",
);

/** The schema of {@linkcode Field.name}; {@linkcode checkField} checks it together with `in`. */
export const fieldNameSchema = z.string().min(1).max(NAME_CHARACTERS_MAX).describe(
  "A header, a query parameter, a top-level key of the body, or a JSON Pointer into it",
);

/** Refuses, in a schema's `superRefine`, a name that the part of the request cannot have. */
export function checkField(field: Field, context: z.RefinementCtx): void {
  const message = fieldError(field);
  if (message !== undefined) refuseField(context, ["name"], message);
}

/** Placeholders of other programs, and misspelt ones of ours. */
const PLACEHOLDER =
  /^(\$\{.*\}|\$[A-Z_]+[A-Z0-9_]*|%[A-Z_]+[A-Z0-9_]*%|\{\w+:.*\}|\{\{.*\}\}|env:\w+)$/;

/** Returns the schema of the text of a secret: a literal, `{env:NAME}` or `{file:PATH}`. */
export function secretTextSchema(charactersMax: number): z.ZodString {
  return z.string().min(1, { error: "Must not be empty" }).max(charactersMax)
    .refine((text) => standsForSecret(text) || !/\{(?:env|file):/.test(text), {
      error: "Must be a literal, or {env:NAME} or {file:/absolute/path} and nothing else",
    })
    .refine((text) => standsForSecret(text) || !PLACEHOLDER.test(text), {
      error: "Expected {env:NAME} in place of another program's placeholder",
    });
}

const secretSchema = secretTextSchema(SECRET_CHARACTERS_MAX);

/** The schema of a single secret: a literal, `{env:NAME}` or `{file:PATH}`, or a literal as the API shows it. */
export const oneSecretSchema = z.union([
  secretSchema,
  z.strictObject({
    value: secretSchema.describe("A literal, {env:NAME} or {file:/absolute/path}"),
    fingerprint: z.string().max(64).optional().describe("Shown with a literal"),
  }, { error: unquoted }),
]);

/** The schema of a condition's `secrets`: any one may match, so that they can be rotated. */
export const secretsSchema = z.array(z.union([
  secretSchema,
  z.strictObject({
    name: nameSchema.optional().describe("Unique among the condition's secrets"),
    value: secretSchema.optional().describe("A literal, {env:NAME} or {file:/absolute/path}"),
    secret: secretSchema.optional().describe("The earlier name of `value`"),
    until: z.iso.datetime({
      offset: true,
      error: "Expected a date and time with its offset, such as 2027-01-31T00:00:00Z",
    }).optional().describe("From then on it matches nothing (RFC 3339)"),
    fingerprint: z.string().max(64).optional().describe(
      "Shown with a literal. Beside a mask, it says which stored secret is meant",
    ),
  }, { error: unquoted }).refine(
    ({ value, secret }) => (value === undefined) !== (secret === undefined),
    {
      error: "Expected a secret in `value`",
    },
  ),
])).min(1).max(SECRETS_MAX).refine(haveUniqueNames, {
  error: "Expected unique names of secrets, found one twice",
}).describe(
  "Secrets of which any one may match: each a literal, {env:NAME} or {file:PATH}, or an object with one and a name or an end date",
);

/** The error of a secret's schema for an object: YAML reads `{env:NAME}` without quotes as one. */
export function unquoted({ code, input }: z.core.$ZodRawIssue): string | undefined {
  const [key = ""] = Object.keys(Object(input));
  if (code !== "unrecognized_keys" || !/^(env|file):/.test(key)) return undefined;
  return `Must be in quotes: "{${key}}"`;
}

function haveUniqueNames(secrets: readonly SecretSetting[]): boolean {
  const names = secrets.flatMap((each) => typeof each === "string" ? [] : each.name ?? []);
  return new Set(names).size === names.length;
}

/** The schema of a public key; its form depends on the kind, which checks it. */
export const publicKeySchema = z.union([
  z.string().min(1).max(PUBLIC_KEY_CHARACTERS_MAX),
  z.looseObject({ kty: z.string() }),
]);
