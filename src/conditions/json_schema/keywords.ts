/**
 * The keywords of JSON Schema, draft 2020-12, and the walk over a schema.
 *
 * @module
 */
import { isObject } from "../../platform/objects.ts";
import { pointer } from "../../platform/schema/pointer.ts";

/** A schema as an object, or true or false. */
export type Schema = boolean | { readonly [keyword: string]: unknown };

/** The form of a keyword's value. */
type Form =
  | "schema"
  | "schemas"
  | "schemas by name"
  | "number"
  | "count"
  | "text"
  | "flag"
  | "names"
  | "names by name"
  | "list"
  | "types"
  | "any";

/** The keywords that are understood. Those that describe alone assert nothing. */
const KEYWORDS: Readonly<Record<string, Form>> = {
  $schema: "text",
  $id: "text",
  $anchor: "text",
  $ref: "text",
  $dynamicAnchor: "text",
  $dynamicRef: "text",
  $comment: "text",
  $defs: "schemas by name",
  definitions: "schemas by name",
  title: "text",
  description: "text",
  default: "any",
  examples: "list",
  deprecated: "flag",
  readOnly: "flag",
  writeOnly: "flag",
  contentEncoding: "text",
  contentMediaType: "text",
  contentSchema: "schema",
  type: "types",
  const: "any",
  enum: "list",
  not: "schema",
  if: "schema",
  then: "schema",
  else: "schema",
  allOf: "schemas",
  anyOf: "schemas",
  oneOf: "schemas",
  properties: "schemas by name",
  patternProperties: "schemas by name",
  additionalProperties: "schema",
  unevaluatedProperties: "schema",
  propertyNames: "schema",
  required: "names",
  dependentRequired: "names by name",
  dependentSchemas: "schemas by name",
  minProperties: "count",
  maxProperties: "count",
  prefixItems: "schemas",
  items: "schema",
  contains: "schema",
  unevaluatedItems: "schema",
  minContains: "count",
  maxContains: "count",
  minItems: "count",
  maxItems: "count",
  uniqueItems: "flag",
  minimum: "number",
  maximum: "number",
  exclusiveMinimum: "number",
  exclusiveMaximum: "number",
  multipleOf: "number",
  minLength: "count",
  maxLength: "count",
  pattern: "text",
  format: "text",
};

/** Keywords whose schemas are for the same value as the schema that has them. */
export const IN_PLACE: ReadonlySet<string> = new Set([
  "allOf",
  "anyOf",
  "dependentSchemas",
  "else",
  "if",
  "not",
  "oneOf",
  "then",
]);

/** A schema within a schema. */
interface SchemaPlace {
  keyword: string;
  /** The pointer to it from the schema that has it. */
  at: string;
  schema: unknown;
}

/** Returns the form of a keyword; undefined where it is unknown. */
export function formOf(keyword: string): Form | undefined {
  return Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
}

/** Lists the schemas directly within a schema, also where a keyword has another form than it should. */
export function schemasIn(schema: Readonly<Record<string, unknown>>): SchemaPlace[] {
  return Object.entries(schema).flatMap(([keyword, value]): SchemaPlace[] => {
    const form = formOf(keyword);
    if (form === "schema") return [{ keyword, at: pointer(keyword), schema: value }];
    const isMany = form === "schemas" && Array.isArray(value) ||
      form === "schemas by name" && isObject(value);
    return isMany
      ? Object.entries(Object(value)).map(([name, inner]) => {
        return { keyword, at: pointer(keyword, name), schema: inner };
      })
      : [];
  });
}

/**
 * Lists the references of a schema, by their keywords. A schema is one resource, in which a name of `$dynamicAnchor`
 * stands for one place: `$dynamicRef` leads there, as `$ref` does.
 */
export function referencesOf(
  { $ref, $dynamicRef }: Readonly<Record<string, unknown>>,
): [keyword: string, reference: string][] {
  return Object.entries({ $ref, $dynamicRef }).flatMap(([keyword, reference]) =>
    typeof reference === "string" ? [[keyword, reference]] : []
  );
}

/** Lists the names that references give to a schema. */
export function anchorsOf(
  { $anchor, $dynamicAnchor }: Readonly<Record<string, unknown>>,
): string[] {
  return [$anchor, $dynamicAnchor].filter((name) => typeof name === "string");
}

/** Returns the pointer that a reference within the schema names, or the anchor; undefined for another document. */
export function localReference(
  reference: string,
  rootId: unknown,
): { pointer: string } | { anchor: string } | undefined {
  const isOwn = typeof rootId === "string" && rootId !== "" && reference.startsWith(rootId);
  const fragment = isOwn ? reference.slice(rootId.length) || "#" : reference;
  if (!fragment.startsWith("#")) return undefined;
  let text: string;
  try {
    text = decodeURIComponent(fragment.slice(1));
  } catch {
    return undefined;
  }
  return text === "" || text.startsWith("/") ? { pointer: text } : { anchor: text };
}
