/**
 * The hooks of adnanh/webhook: a file in JSON or YAML, as its documentation describes them
 * (https://github.com/adnanh/webhook/blob/master/docs/Hook-Definition.md).
 *
 * @module
 */
import { z } from "zod";
import { parseInput } from "../../platform/schema/nulls.ts";
import { InvalidInputError } from "../../platform/errors.ts";
import { parseYaml } from "../../platform/yaml/parse.ts";

/** A value as hooks compare it and pass it on: always a text. */
const textSchema = z.union([z.string(), z.number(), z.boolean()]).transform(String);

const referenceSchema = z.object({
  source: z.string(),
  name: textSchema.exactOptional(),
  envname: z.string().exactOptional(),
  base64decode: z.boolean().exactOptional(),
});

const matchSchema = z.object({
  type: z.string(),
  value: textSchema.exactOptional(),
  regex: z.string().exactOptional(),
  secret: textSchema.exactOptional(),
  "ip-range": z.string().exactOptional(),
  parameter: referenceSchema.exactOptional(),
});

const ruleSchema: z.ZodType<Rule> = z.lazy(() =>
  z.union([
    z.strictObject({ and: z.array(ruleSchema) }),
    z.strictObject({ or: z.array(ruleSchema) }),
    z.strictObject({ not: ruleSchema }),
    z.strictObject({ match: matchSchema }),
  ])
);

const hookSchema = z.looseObject({
  id: textSchema.refine((id) => id !== "", "Expected a name"),
  "execute-command": z.string(),
  "command-working-directory": z.string().exactOptional(),
  "response-message": z.string().exactOptional(),
  "response-headers": z.array(z.object({ name: z.string(), value: z.string() })).exactOptional(),
  "success-http-response-code": z.number().exactOptional(),
  "incoming-payload-content-type": z.string().exactOptional(),
  "http-methods": z.array(z.string()).exactOptional(),
  "include-command-output-in-response": z.boolean().exactOptional(),
  "include-command-output-in-response-on-error": z.boolean().exactOptional(),
  "parse-parameters-as-json": z.array(referenceSchema).exactOptional(),
  "pass-arguments-to-command": z.array(referenceSchema).exactOptional(),
  "pass-environment-to-command": z.array(referenceSchema).exactOptional(),
  "pass-file-to-command": z.array(referenceSchema).exactOptional(),
  "trigger-rule": ruleSchema.exactOptional(),
  "trigger-rule-mismatch-http-response-code": z.number().exactOptional(),
  "trigger-signature-soft-failures": z.boolean().exactOptional(),
});

/** A value of a request, as a hook refers to it. */
export type Reference = z.infer<typeof referenceSchema>;

/** A comparison, or a check of who sends. */
export type Match = z.infer<typeof matchSchema>;

/** A rule that a request must meet. */
export type Rule = { and: Rule[] } | { or: Rule[] } | { not: Rule } | { match: Match };

/** One hook. */
export type Hook = z.infer<typeof hookSchema>;

/** The fields that are read; webhook ignores others, too. */
export const HOOK_FIELDS: ReadonlySet<string> = new Set(Object.keys(hookSchema.shape));

/** A variable in a file that webhook reads with `-template`: `{{ getenv "NAME" | js }}`. */
const VARIABLE = /\{\{-?\s*getenv\s+\\?"(\w+)\\?"\s*(?:\|\s*js\s*)?-?\}\}/g;

/**
 * Reads a file of hooks. Variables of templates become `{env:NAME}`.
 *
 * @param path the file, for errors
 * @throws {InvalidInputError} with every problem, each with its line and column
 */
export function parseHooks(text: string, path: string): Hook[] {
  const yaml = parseYaml(text.replace(VARIABLE, "{env:$1}"), path);
  try {
    return parseInput(z.array(hookSchema), yaml.value, path);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    throw new InvalidInputError(path, yaml.located(error.problems));
  }
}
