/**
 * Values that a JSON schema describes, drawn at random: as many of its words as the API's description uses.
 *
 * @module
 */
import fc from "fast-check";

// The schemas come from the service's own description.
// deno-lint-ignore no-explicit-any
type Schema = any;

const DEPTH_MAX = 4;

/** What was made, by schema and depth: the schemas of many operations share their parts. */
const made = new WeakMap<object, fc.Arbitrary<unknown>[]>();
/** Arbitraries by pattern. Making one takes up to a second, and many schemas share a pattern. */
const matching = new Map<string, fc.Arbitrary<string>>();

/**
 * Makes the arbitrary of what a schema describes.
 *
 * @param definitions the schemas that references name, by their last part
 */
export function valueOf(
  schema: Schema,
  definitions: Readonly<Record<string, Schema>>,
  depth = 0,
): fc.Arbitrary<unknown> {
  const ofDepths = made.get(schema) ?? [];
  made.set(schema, ofDepths);
  return ofDepths[depth] ??= newValueOf(schema, definitions, depth);
}

function newValueOf(
  schema: Schema,
  definitions: Readonly<Record<string, Schema>>,
  depth: number,
): fc.Arbitrary<unknown> {
  const of = (inner: Schema) => valueOf(inner, definitions, depth + 1);
  if (schema.$ref) return valueOf(definitions[schema.$ref.split("/").at(-1)], definitions, depth);
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.oneOf && !schema.properties) return fc.oneof(...schema.oneOf.map(of));
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(of));
  if (schema.allOf) return of(schema.allOf[0]);
  if (Array.isArray(schema.type)) {
    return fc.oneof(...schema.type.map((type: string) => of({ ...schema, type })));
  }
  switch (schema.type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
    case "number":
      return numberOf(schema);
    case "string":
      return textOf(schema);
    case "array":
      return fc.array(of(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 3, Math.max(schema.minItems ?? 0, 3)),
      });
    case "object":
      return objectOf(schema, of, depth);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function numberOf(schema: Schema): fc.Arbitrary<number> {
  const { minimum = -1_000_000, maximum = 1_000_000, exclusiveMinimum } = schema;
  const min = exclusiveMinimum === undefined ? minimum : exclusiveMinimum + 1;
  return fc.integer({ min: Math.ceil(min), max: Math.floor(maximum) });
}

function textOf(schema: Schema): fc.Arbitrary<string> {
  const { format, pattern, minLength = 0, maxLength = 40 } = schema;
  if (format === "date-time") {
    const [min, max] = [new Date("2000-01-01"), new Date("2100-01-01")];
    return fc.date({ min, max, noInvalidDate: true }).map((date) => date.toISOString());
  }
  if (format === "ipv4") return fc.ipV4();
  if (format === "ipv6") return fc.ipV6();
  if (format === "uri") return fc.webUrl();
  if (pattern) {
    const arbitrary = matching.get(pattern) ?? fc.stringMatching(new RegExp(pattern));
    matching.set(pattern, arbitrary);
    return arbitrary
      .filter(({ length }) => length >= minLength && length <= (schema.maxLength ?? 1_000));
  }
  const bounds = { minLength, maxLength: Math.min(maxLength, Math.max(minLength, 40)) };
  return fc.string({ ...bounds, unit: "grapheme-ascii" });
}

function objectOf(
  schema: Schema,
  of: (inner: Schema) => fc.Arbitrary<unknown>,
  depth: number,
): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  const names = Object.keys(properties)
    .filter((name) => required.includes(name) || depth < DEPTH_MAX);
  const known = fc.record(
    Object.fromEntries(names.map((name) => [name, of(properties[name])])),
    { requiredKeys: required },
  );
  if (schema.not) return known.filter((value) => !hasTexts(value, schema.not.required));
  if (typeof additionalProperties !== "object" || depth >= DEPTH_MAX) return known;
  const others = fc.dictionary(
    propertyNames ? of({ type: "string", ...propertyNames }) as fc.Arbitrary<string> : fc.string(),
    of(additionalProperties),
    { maxKeys: 2 },
  );
  return fc.tuple(known, others).map(([one, more]) => ({ ...more, ...one }));
}

/** Returns true for a value with a text in each of some fields: `not` forbids these together. */
function hasTexts(value: object, names: readonly string[]): boolean {
  return names.every((name) => typeof Object(value)[name] === "string");
}
