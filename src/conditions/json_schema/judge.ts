/**
 * The verdict of a schema on a request, with the place in the body that does not match. This file loads no zod,
 * since the Worker judges too.
 *
 * @module
 */
import { messageOf } from "../../platform/errors.ts";
import { isObject } from "../../platform/objects.ts";
import { childOf, pointerParts } from "../../platform/schema/pointer.ts";
import { truncate } from "../../platform/text/display.ts";
import { percentDecode } from "../../platform/network/urls.ts";
import { type Censor, censorOf } from "../cel/reason.ts";
import type { Refusal } from "../check.ts";
import type { CredentialField } from "../field.ts";
import { describeBody, type LaunchRequest, type ParsedBody } from "../request.ts";
import { patternOfFormat } from "./formats.ts";
import type { Schema } from "./keywords.ts";
import type { CompiledSchema, Mismatch } from "./validator.ts";

const SHOWN_MAX = 200;
const REASON_MAX = 500;

/** Keywords that only say that a reason follows: that of a schema within. */
const OUTER: ReadonlySet<string> = new Set([
  "$ref",
  "additionalProperties",
  "allOf",
  "contains",
  "dependentSchemas",
  "if",
  "items",
  "prefixItems",
  "properties",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** Returns why a request does not match; undefined where it does. */
export function judgeBody(
  schema: CompiledSchema,
  request: LaunchRequest,
  credentials: readonly CredentialField[],
): Refusal | undefined {
  const body = request.parsedBody();
  if (body.kind === "other") {
    const why = body.refused === undefined
      ? `The body is neither JSON nor a form: ${describeBody(request)}`
      : `The body cannot be read: ${body.refused}`;
    return { reason: why };
  }
  const value = bodyValue(body);
  try {
    const { root, errors } = schema.mismatches(value);
    const mismatch = errors.find(({ keyword }) => !OUTER.has(keyword)) ?? errors[0];
    if (mismatch === undefined) return undefined;
    return explain(mismatch, { root, value, censor: censorOf(request, credentials) });
  } catch (error) {
    const why = error instanceof RangeError
      ? "the schema tries too many alternatives for it"
      : messageOf(error);
    return { reason: truncate(`The body cannot be checked: ${why}`, REASON_MAX) };
  }
}

/** Returns the value of a body that a schema is for. The fields of a form are texts, or lists of texts. */
export function bodyValue(body: Exclude<ParsedBody, { kind: "other" }>): unknown {
  if (body.kind === "json") return body.value;
  return Object.fromEntries(
    Array.from(body.fields, ([name, [first, ...others]]) => {
      return [name, others.length === 0 ? first : [first, ...others]];
    }),
  );
}

function explain(
  { keyword, keywordLocation, instanceLocation, error }: Mismatch,
  { root, value, censor }: { root: Schema; value: unknown; censor: Censor },
): Refusal {
  const path = partsOf(instanceLocation);
  const found = path.reduce<unknown>(childOf, value);
  const schema = schemaAt(root, partsOf(keywordLocation).slice(0, -1));
  const at = instanceLocation === "#" ? "the body" : instanceLocation.slice(1);
  const refused = keyword === "false" ? "there must be none" : nameOf(keyword, schema);
  return {
    reason: `The body does not match the schema at ${truncate(at, SHOWN_MAX)}: ${refused}`,
    expected: truncate(
      expectedOf(keyword, isObject(schema) ? schema : {}, found) ?? error,
      SHOWN_MAX,
    ),
    found: censor(show(found)),
  };
}

/** Returns the keyword as its owner has written it. */
function nameOf(keyword: string, schema: unknown): string {
  const isPattern = keyword === "format" &&
    patternOfFormat(String(childOf(schema, keyword))) !== undefined;
  return isPattern ? "pattern" : keyword;
}

/** Returns the schema that a list of keywords leads to. */
function schemaAt(root: Schema, path: readonly string[]): unknown {
  const resolve = (reference: unknown): unknown =>
    partsOf(String(reference)).reduce<unknown>(childOf, root);
  return path.reduce<unknown>((at, part) => {
    const child = childOf(at, part);
    return part === "$ref" ? resolve(child) : child;
  }, root);
}

/** The words before and behind a number that a keyword sets. */
const BOUNDS: Readonly<Record<string, [before: string, behind?: string]>> = {
  exclusiveMaximum: ["less than"],
  exclusiveMinimum: ["more than"],
  maximum: ["at most"],
  minimum: ["at least"],
  multipleOf: ["a multiple of"],
  maxContains: ["at most", "elements that match the schema of `contains`"],
  minContains: ["at least", "elements that match the schema of `contains`"],
  maxItems: ["at most", "elements"],
  minItems: ["at least", "elements"],
  maxLength: ["at most", "characters"],
  minLength: ["at least", "characters"],
  maxProperties: ["at most", "properties"],
  minProperties: ["at least", "properties"],
};

/** Returns what a keyword asks for; undefined where its error says it best. */
function expectedOf(
  keyword: string,
  schema: Readonly<Record<string, unknown>>,
  found: unknown,
): string | undefined {
  const setting = schema[keyword];
  const bound = Object.hasOwn(BOUNDS, keyword) ? BOUNDS[keyword] : undefined;
  if (bound) return [bound[0], setting, bound[1]].filter((part) => part !== undefined).join(" ");
  switch (keyword) {
    case "type":
      return [setting].flat().join(" or ");
    case "const":
      return JSON.stringify(setting);
    case "enum":
      return `one of ${[setting].flat().map((each) => JSON.stringify(each)).join(", ")}`;
    case "required": {
      const missing = [setting].flat().find((name) => !Object.hasOwn(Object(found), String(name)));
      return missing === undefined ? undefined : `the property ${JSON.stringify(missing)}`;
    }
    case "dependentRequired": {
      const has = (name: unknown) => Object.hasOwn(Object(found), String(name));
      const missing = Object.entries(Object(setting)).flatMap(([name, others]) =>
        has(name) ? [others].flat().filter((other) => !has(other)) : []
      );
      return missing.length === 0 ? undefined : `the property ${JSON.stringify(missing[0])}`;
    }
    case "contains":
      return "an element that matches the schema of `contains`";
    case "uniqueItems":
      return "elements that differ from each other";
    case "format": {
      const pattern = patternOfFormat(String(setting));
      return pattern === undefined ? `the format ${setting}` : `a match of ${pattern}`;
    }
    case "false":
      return "no such property or element";
    case "anyOf":
    case "oneOf":
      return `${keyword === "anyOf" ? "one" : "exactly one"} of ${[setting].flat().length} schemas`;
    case "not":
      return "none that matches the schema of `not`";
    default:
      return undefined;
  }
}

function partsOf(location: string): string[] {
  return pointerParts(location.replace(/^#/, "")).map(percentDecode);
}

function show(value: unknown): string {
  if (value === undefined) return "none";
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isObject(value)) return `an object with ${namesOf(value)}`;
  return JSON.stringify(value);
}

function namesOf(value: object): string {
  const names = Object.keys(value);
  return names.length === 0
    ? "no properties"
    : names.slice(0, 20).map((name) => JSON.stringify(name)).join(", ");
}
