/**
 * Values that a JSON schema asks for, and values that nobody asks for.
 *
 * @module
 */
import type { Random } from "./findings.ts";

/** A JSON schema, as an OpenAPI document holds it. */
export type Schema = { readonly [key: string]: unknown };

/** The schemas that others refer to, by their references. */
export type References = ReadonlyMap<string, Schema>;

const DEPTH_MAX = 8;
const TEXTS: readonly [string, ...string[]] = [
  "",
  "x",
  "{run_id}",
  "{env:HOME}",
  "../../etc/passwd",
  "a\0b",
  "\ud800",
  "\u202e\u0000",
  "%00%2e%2e%2f",
  "' or 1=1 --",
  "${jndi:x}",
  "2026-01-01T00:00:00Z",
  "********",
  "body.a == 1",
  "body.".repeat(60) + "a",
  "headers.all(h, headers.all(i, headers.all(j, true)))",
  "((((((((((((((((((((1))))))))))))))))))))",
  "'a'.matches('(a+)+$')",
  "01900000-0000-7000-8000-000000000001",
  "😀".repeat(40),
  "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
  "127.0.0.1/33",
  "::1/64",
  "/a/~0/~1/b",
  "__proto__",
];
const JUNK: readonly [unknown, ...unknown[]] = [
  null,
  true,
  0,
  -1,
  1e308,
  0.1,
  2 ** 53,
  -0,
  [],
  {},
  [[[[[]]]]],
  { __proto__: 1, constructor: 1 },
  { "": "" },
];

/** Some text. */
export function someText(random: Random): string {
  if (random.chance(0.02)) return "long ".repeat(random.int(20_000));
  if (random.chance(0.2)) return String.fromCharCode(...random.bytes(random.int(30)));
  return random.pick(TEXTS);
}

/** Something that JSON can hold. */
export function someJunk(random: Random): unknown {
  if (random.chance(0.3)) return someText(random);
  if (random.chance(0.05)) return nested(random.int(3_000));
  return random.pick(JUNK);
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

/** A value that a schema asks for, but now and then something else in its place. */
export function valueOf(
  schema: unknown,
  references: References,
  random: Random,
  depth = 0,
): unknown {
  if (random.chance(0.03) || depth > DEPTH_MAX || !isSchema(schema)) return someJunk(random);
  const inner = (part: unknown) => valueOf(part, references, random, depth + 1);
  if (typeof schema.$ref === "string") return inner(references.get(schema.$ref));
  for (const name of ["anyOf", "oneOf", "allOf"]) {
    const choices: unknown = schema[name];
    if (Array.isArray(choices) && choices.length > 0) {
      return inner(choices[random.int(choices.length)]);
    }
  }
  if ("const" in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[random.int(schema.enum.length)];
  switch (schema.type) {
    case "string":
      return random.chance(0.5) ? "abc".slice(0, 1 + random.int(3)) : someText(random);
    case "integer":
    case "number":
      return numberOf(schema, random);
    case "boolean":
      return random.chance(0.5);
    case "array":
      return Array.from({ length: random.int(4) }, () => inner(schema.items));
    case "object":
      return objectOf(schema, random, inner);
    default:
      return someJunk(random);
  }
}

function numberOf({ minimum, maximum }: Schema, random: Random): number {
  const low = typeof minimum === "number" ? minimum : 0;
  const high = typeof maximum === "number" ? maximum : 1_000;
  return random.pick([
    low,
    high,
    low - 1,
    high + 1,
    Math.floor(low + random.float() * (high - low)),
  ]);
}

function objectOf(
  schema: Schema,
  random: Random,
  inner: (part: unknown) => unknown,
): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  const required: unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const properties = isSchema(schema.properties) ? schema.properties : {};
  for (const [name, property] of Object.entries(properties)) {
    if (random.chance(required.includes(name) ? 0.97 : 0.4)) found[name] = inner(property);
  }
  if (isSchema(schema.additionalProperties)) {
    for (let count = random.int(3); count > 0; count--) {
      found[someText(random)] = inner(schema.additionalProperties);
    }
  }
  if (random.chance(0.03)) found[someText(random)] = someJunk(random);
  return found;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
