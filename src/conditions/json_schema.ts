/**
 * A condition on the body of a request: a JSON Schema (json-schema.org), draft 2020-12.
 *
 * @module
 */
import { z } from "zod";
import type { Problem } from "../platform/errors.ts";
import { tryReadSecretFile } from "../platform/files/secret_file.ts";
import { pointerParts } from "../platform/schema/pointer.ts";
import { refuseField } from "../platform/schema/schema.ts";
import { inexactNumberProblem } from "../platform/text/exact_number.ts";
import type { Check } from "./check.ts";
import type { CheckedKind, ConditionContext, WarningFacts } from "./condition.ts";
import { warnOfDisabling } from "./disabling.ts";
import { costOfSchema, isShortCheck } from "./json_schema/cost.ts";
import { judgeBody } from "./json_schema/judge.ts";
import type { Schema } from "./json_schema/keywords.ts";
import { schemaProblems, schemaWarnings } from "./json_schema/problems.ts";
import { compileSchema } from "./json_schema/validator.ts";
import type { LaunchRequest } from "./request.ts";
import { SECRET_FILE } from "./secret.ts";
import { settingsObject } from "./settings.ts";
import { failureOf, requestInput } from "./worker_request.ts";

/** The time of one check in the Worker, in which it parses the body too. */
const CHECK_MS_MAX = 2_000;

const schema = settingsObject({
  type: z.literal("json_schema"),
  schema: z.union([
    z.boolean(),
    z.record(z.string(), z.json()),
    z.string().regex(SECRET_FILE, {
      error: "Expected a schema, or {file:/absolute/path} of one",
    }),
  ]).describe("A JSON Schema, draft 2020-12, or {file:/absolute/path} of one"),
}).superRefine(({ schema: written }, context) => {
  if (context.issues.length > 0 || typeof written === "string") return;
  for (const { pointer, detail } of schemaProblems(written)) {
    refuseField(context, ["schema", ...pointerParts(pointer)], detail);
  }
});

/** The settings of a JSON Schema. */
type JsonSchemaSettings = z.infer<typeof schema>;

/** A schema that the body must match. */
export const jsonSchema = {
  type: "json_schema",
  stage: "filter",
  schema,
  warnings,
  reads: () => [["body"]],
  prepare,
} satisfies CheckedKind<JsonSchemaSettings>;

function warnings({ schema: written }: JsonSchemaSettings, facts: WarningFacts): Problem[] {
  const read = readSchema(written);
  if ("problem" in read) return [{ pointer: "/schema", detail: read.problem }];
  const own = schemaWarnings(read.schema).map(({ pointer, detail }) => {
    return { pointer: typeof written === "string" ? "/schema" : `/schema${pointer}`, detail };
  });
  return [...own, ...warnOfDisabling(facts).map((detail) => ({ pointer: "", detail }))];
}

function prepare({ schema: written }: JsonSchemaSettings, context: ConditionContext): Check {
  const read = readSchema(written);
  if ("problem" in read) return () => ({ reason: `The schema cannot be used: ${read.problem}` });
  const compiled = compileSchema(read.schema);
  const cost = costOfSchema(read.schema);
  const text = JSON.stringify(read.schema);
  return (request) =>
    isShortCheck(cost, request)
      ? judgeBody(compiled, request, context.credentials)
      : judgeInWorker(text, request, context);
}

async function judgeInWorker(
  schema: string,
  request: LaunchRequest,
  { heavyWork, credentials, triggerId }: ConditionContext,
) {
  const { signal } = request;
  const input = { schema, credentials, ...requestInput(request) };
  const limits = { key: triggerId, timeout_ms: CHECK_MS_MAX, ...(signal && { signal }) };
  try {
    return await heavyWork.run("schema", input, limits);
  } catch (error) {
    return { reason: `The body cannot be checked: ${failureOf(error)}` };
  }
}

/** Reads a schema where its setting says that it is. */
function readSchema(written: JsonSchemaSettings["schema"]): { schema: Schema } | {
  problem: string;
} {
  const path = typeof written === "string" ? SECRET_FILE.exec(written)?.[1] : undefined;
  if (typeof written !== "string") return { schema: written };
  if (path === undefined) return { problem: "it names no file" };
  const read = tryReadSecretFile(path);
  if ("problem" in read) return { problem: `file ${path}: ${read.problem}` };
  let schema: unknown;
  let hasInexact = false;
  try {
    schema = JSON.parse(read.text, (_key, value, ...[written]: [{ source: string }?]) => {
      hasInexact ||= typeof value === "number" &&
        inexactNumberProblem(value, written?.source ?? "") !== undefined;
      return value;
    });
  } catch {
    // What the parser says quotes the file.
    return { problem: `file ${path} is no JSON` };
  }
  if (hasInexact) return { problem: `file ${path} holds a number of more than 15 digits` };
  const [mistake] = schemaProblems(schema);
  if (mistake) return { problem: `file ${path}: ${mistake.pointer}: ${mistake.detail}` };
  // It has no mistakes, so it is one.
  return { schema: schema as Schema };
}
