/**
 * What the writer of a document is told: where it is wrong, what was expected there, and what was
 * found. Never a secret.
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { z } from "zod";
import { InvalidInputError, type Problem } from "../../../src/platform/errors.ts";
import { parseWith } from "../../../src/platform/schema/schema.ts";
import { pointer } from "../../../src/platform/schema/pointer.ts";
import { triggerSchema } from "../../../src/triggers/trigger.ts";

const conditionSchema = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("static_token"),
    secrets: z.array(z.string().min(1, { error: "Must not be empty" }).max(20)).min(1).max(3),
  }),
  z.strictObject({ type: z.literal("jwt"), key: z.string().max(5), admin_token: z.int() }),
]);

const schema = z.strictObject({
  name: z.string().regex(/^[a-z]+$/, { error: "Expected small letters" }),
  count: z.int().min(1).max(9).default(1),
  ratio: z.number().min(0.5).optional(),
  enabled: z.boolean().optional(),
  mode: z.enum(["fast", "slow"]).optional(),
  version: z.literal(2).optional(),
  title: z.string().min(2).max(4).optional(),
  tags: z.array(z.string()).min(1).max(2).optional(),
  command: z.union([z.string(), z.array(z.string())]).optional(),
  place: z.union([z.string().min(3), z.strictObject({ path: z.string() })]).optional(),
  conditions: z.array(conditionSchema).optional(),
  parameters: z.record(z.string().max(3), z.json()).optional(),
  variables: z.record(
    z.string().regex(/^[a-z]+$/, { error: "Expected a name of small letters" }),
    z.string(),
  ).optional(),
  bytes: z.base64().optional(),
  at: z.iso.datetime({ offset: true }).optional(),
  both: z.strictObject({ a: z.string().optional(), b: z.string().optional() })
    .refine(({ a, b }) => a !== b, { error: "Expected either a or b" }).optional(),
});

function problemsOf(value: unknown): readonly Problem[] {
  return assertThrows(() => parseWith(schema, value, "the trigger"), InvalidInputError).problems;
}

const GOOD = { name: "a" };

const cases: { name: string; value: unknown; problems: Problem[] }[] = [
  {
    name: "an unknown field",
    value: { ...GOOD, nmae: "b" },
    problems: [{ pointer: "/nmae", detail: 'Unknown field "nmae" (did you mean "name"?)' }],
  },
  {
    name: "several unknown fields, one with characters that a pointer escapes",
    value: { ...GOOD, "a/b~c": 1, other: 2 },
    problems: [
      { pointer: "/a~1b~0c", detail: 'Unknown field "a/b~c"' },
      { pointer: "/other", detail: 'Unknown field "other"' },
    ],
  },
  {
    name: "a text where a list is expected, and longer than the list may be",
    value: { ...GOOD, tags: "abc", conditions: [{ type: "static_token", secrets: "abcdef" }] },
    problems: [
      { pointer: "/tags", detail: 'Expected an array, found "abc"' },
      { pointer: "/conditions/0/secrets", detail: "Expected an array, found a string" },
    ],
  },
  {
    name: "an unknown field deep inside",
    value: { ...GOOD, conditions: [{ type: "static_token", secrets: ["x"], sercets: ["y"] }] },
    problems: [{
      pointer: "/conditions/0/sercets",
      detail: 'Unknown field "sercets" (did you mean "secrets"?)',
    }],
  },
  {
    name: "a missing field",
    value: {},
    problems: [{ pointer: "/name", detail: "Expected a string, found nothing" }],
  },
  {
    name: "a number in place of text",
    value: { name: 7 },
    problems: [{ pointer: "/name", detail: "Expected a string, found 7" }],
  },
  {
    name: "null",
    value: { name: null },
    problems: [{ pointer: "/name", detail: "Expected a string, found null" }],
  },
  {
    name: "a list in place of text",
    value: { name: ["a"] },
    problems: [{ pointer: "/name", detail: "Expected a string, found a list" }],
  },
  {
    name: "an object in place of text",
    value: { name: { a: 1 } },
    problems: [{ pointer: "/name", detail: "Expected a string, found an object" }],
  },
  {
    name: "text in place of a switch",
    value: { ...GOOD, enabled: "yes" },
    problems: [{ pointer: "/enabled", detail: 'Expected a boolean, found "yes"' }],
  },
  {
    name: "text in place of the document",
    value: "name: a",
    problems: [{ pointer: "", detail: 'Expected an object, found "name: a"' }],
  },
  {
    name: "nothing in place of the document",
    value: undefined,
    problems: [{ pointer: "", detail: "Expected an object, found nothing" }],
  },
  {
    name: "a broken number",
    value: { ...GOOD, count: 1.5 },
    problems: [{ pointer: "/count", detail: "Expected a whole number, found 1.5" }],
  },
  {
    name: "a number too small",
    value: { ...GOOD, count: 0 },
    problems: [{ pointer: "/count", detail: "Expected a number of at least 1, found 0" }],
  },
  {
    name: "a number too large",
    value: { ...GOOD, count: 10 },
    problems: [{ pointer: "/count", detail: "Expected a number of at most 9, found 10" }],
  },
  {
    name: "a word that is none of those there are",
    value: { ...GOOD, mode: "quick" },
    problems: [{ pointer: "/mode", detail: 'Expected one of "fast", "slow", found "quick"' }],
  },
  {
    name: "another value than the only one",
    value: { ...GOOD, version: 1 },
    problems: [{ pointer: "/version", detail: "Expected 2, found 1" }],
  },
  {
    name: "text too short",
    value: { ...GOOD, title: "x" },
    problems: [{ pointer: "/title", detail: 'Expected at least 2 characters, found "x"' }],
  },
  {
    name: "a list too short",
    value: { ...GOOD, tags: [] },
    problems: [{ pointer: "/tags", detail: "Expected at least 1 element, found a list" }],
  },
  {
    name: "a list too long",
    value: { ...GOOD, tags: ["a", "b", "c"] },
    problems: [{ pointer: "/tags", detail: "Expected at most 2 elements, found a list" }],
  },
  {
    name: "an element of a list",
    value: { ...GOOD, tags: ["a", 5] },
    problems: [{ pointer: "/tags/1", detail: "Expected a string, found 5" }],
  },
  {
    name: "text of another form, in the schema's own words",
    value: { name: "A b" },
    problems: [{ pointer: "/name", detail: 'Expected small letters, found "A b"' }],
  },
  {
    name: "very long text is cut short",
    value: { name: "A".repeat(500) },
    problems: [{
      pointer: "/name",
      detail: `Expected small letters, found "${"A".repeat(79)}…`,
    }],
  },
  {
    name: "an unknown type",
    value: { ...GOOD, conditions: [{ type: "magic" }] },
    problems: [{
      pointer: "/conditions/0/type",
      detail: 'Expected one of "static_token", "jwt", found "magic"',
    }],
  },
  {
    name: "no type",
    value: { ...GOOD, conditions: [{ secrets: ["x"] }] },
    problems: [{
      pointer: "/conditions/0/type",
      detail: 'Expected one of "static_token", "jwt", found nothing',
    }],
  },
  {
    name: "none of two forms",
    value: { ...GOOD, command: 5 },
    problems: [{ pointer: "/command", detail: "Expected a string or an array, found 5" }],
  },
  {
    name: "one of two forms, and too short",
    value: { ...GOOD, place: "x" },
    problems: [{ pointer: "/place", detail: 'Expected at least 3 characters, found "x"' }],
  },
  {
    name: "the second of two forms, with a field of another name",
    value: { ...GOOD, place: { pth: "x" } },
    problems: [
      { pointer: "/place/path", detail: "Expected a string, found nothing" },
      { pointer: "/place/pth", detail: 'Unknown field "pth" (did you mean "path"?)' },
    ],
  },
  {
    name: "the second of two forms, and a wrong value within",
    value: { ...GOOD, command: ["a", 5] },
    problems: [{ pointer: "/command/1", detail: "Expected a string, found 5" }],
  },
  {
    name: "a name of a parameter that is too long",
    value: { ...GOOD, parameters: { epochs: 3 } },
    problems: [{
      pointer: "/parameters/epochs",
      detail: 'Expected a name of at most 3 characters, found "epochs"',
    }],
  },
  {
    name: "a name that the schema describes itself",
    value: { ...GOOD, variables: { "a b": "c" } },
    problems: [{
      pointer: "/variables/a b",
      detail: 'Expected a name of small letters, found "a b"',
    }],
  },
  {
    name: "texts of other formats",
    value: { ...GOOD, bytes: "!!", at: "2030-01-01" },
    problems: [
      { pointer: "/bytes", detail: 'Expected base64, found "!!"' },
      {
        pointer: "/at",
        detail: 'Expected a time such as 2026-01-31T12:00:00Z, found "2030-01-01"',
      },
    ],
  },
  {
    name: "fields that do not go together",
    value: { ...GOOD, both: {} },
    problems: [{ pointer: "/both", detail: "Expected either a or b, found an object" }],
  },
  {
    name: "everything at once",
    value: { count: 0, extra: true, mode: 1 },
    problems: [
      { pointer: "/name", detail: "Expected a string, found nothing" },
      { pointer: "/count", detail: "Expected a number of at least 1, found 0" },
      { pointer: "/mode", detail: 'Expected one of "fast", "slow", found 1' },
      { pointer: "/extra", detail: 'Unknown field "extra"' },
    ],
  },
];

for (const { name, value, problems } of cases) {
  Deno.test(`${name} is told with its place`, () => {
    assertEquals(problemsOf(value), problems);
  });
}

Deno.test("what is right comes back with its defaults", () => {
  assertEquals(parseWith(schema, GOOD, "the trigger"), { name: "a", count: 1 });
});

Deno.test("the message says what was read and everything that is wrong with it", () => {
  const error = assertThrows(
    () => parseWith(schema, { count: 0 }, "the trigger"),
    InvalidInputError,
  );
  assertEquals(
    error.message,
    "Cannot accept the trigger: /name: Expected a string, found nothing; " +
      "/count: Expected a number of at least 1, found 0",
  );
});

const SECRET = "hunter2-hunter2";

const secrets: { name: string; value: unknown }[] = [
  { name: "too long", value: { type: "static_token", secrets: [SECRET.repeat(3)] } },
  { name: "too many", value: { type: "static_token", secrets: Array(4).fill(SECRET) } },
  { name: "no list", value: { type: "static_token", secrets: SECRET } },
  { name: "in an object", value: { type: "static_token", secrets: [{ value: SECRET }] } },
  { name: "beside a wrong one", value: { type: "static_token", secrets: [SECRET, 5, ""] } },
  { name: "in an unknown field", value: { type: "static_token", secret: SECRET } },
  { name: "a key that is too long", value: { type: "jwt", key: SECRET, admin_token: 1 } },
  { name: "a token of a wrong type", value: { type: "jwt", key: "k", admin_token: SECRET } },
  {
    name: "before the host of a URL",
    value: `https://ci:${SECRET}@git.example.com/${"x".repeat(90)}`,
  },
  { name: "before the host of a URL, and long", value: `https://${SECRET.repeat(9)}@a` },
  { name: "beside a wrong type of condition", value: { type: "magic", secrets: [SECRET] } },
];

for (const { name, value } of secrets) {
  Deno.test(`a secret is in no message: ${name}`, () => {
    const error = assertThrows(
      () => parseWith(schema, { ...GOOD, conditions: [value] }, "the trigger"),
      InvalidInputError,
    );
    assert(error.problems.length > 0);
    assert(!error.message.includes(SECRET.slice(0, 4)), error.message);
    assert(!JSON.stringify(error.problems).includes(SECRET.slice(0, 4)));
  });
}

Deno.test("an empty secret is told as what it is", () => {
  assertEquals(
    problemsOf({ ...GOOD, conditions: [{ type: "static_token", secrets: [""] }] }),
    [{
      pointer: "/conditions/0/secrets/0",
      detail: "Expected at least 1 character, found a string",
    }],
  );
});

const IN_HEADER = { in: "header", name: "X", secrets: ["s"] };

const conditions: { condition: Record<string, unknown>; problems: [string, string][] }[] = [
  {
    condition: { type: "static_token", secrets: ["s"] },
    problems: [
      ["in", 'Expected one of "header", "query", "body", found nothing'],
      ["name", "Expected the name of the field, found nothing"],
    ],
  },
  {
    condition: { type: "static_token", ...IN_HEADER, basic: {} },
    problems: [
      ["in", `Must not stand beside 'basic', found "header"`],
      ["name", `Must not stand beside 'basic', found "X"`],
    ],
  },
  {
    condition: { type: "static_token", ...IN_HEADER, name: "a b" },
    problems: [[
      "name",
      'Must be the name of a header: letters, digits and !#$%&\'*+-.^_`|~, found "a b"',
    ]],
  },
  {
    condition: { type: "hmac", secrets: ["s"], algorithm: "sha256" },
    problems: [[
      "header",
      "Expected the header that carries the signature, or a preset, found nothing",
    ]],
  },
  {
    condition: { type: "jwt", algorithms: ["HS256", "RS256"], secrets: ["s"] },
    problems: [[
      "algorithms/1",
      "RS256 signs with a private key: it goes with public_keys or jwks_url, not with secrets, " +
      'found "RS256"',
    ]],
  },
  {
    condition: { type: "jwt", algorithms: ["HS256"] },
    problems: [[
      "",
      "Must have exactly one of secrets, public_keys and jwks_url: current value is none",
    ]],
  },
  {
    condition: { type: "signature", header: "X", algorithm: "ed25519", public_keys: ["mine"] },
    problems: [[
      "public_keys/0",
      "Must be a public key as PEM, JWK or base64 of 32 bytes: invalid SPKI public key, found a string",
    ]],
  },
  {
    condition: { type: "payload_filter", all: [{ path: "bdoy", op: "eq", value: 1 }] },
    problems: [[
      "all/0/path",
      "Must begin with one of body, raw, headers, query, content_type, remote_ip, jwt: " +
      'found "bdoy"',
    ]],
  },
];

for (const { condition, problems } of conditions) {
  const { type, ...settings } = condition;
  Deno.test(`what was found is told of a ${type}: ${JSON.stringify(settings)}`, () => {
    const trigger = { name: "a", project: "p", conditions: [condition], actions: [] };
    const refused = assertThrows(
      () => parseWith(triggerSchema, trigger, "the trigger"),
      InvalidInputError,
    );
    const found = refused.problems.filter(({ pointer }) => pointer.startsWith("/conditions"));
    assertEquals(
      found.map(({ pointer, detail }) => [pointer.replace(/^\/conditions\/0\/?/, ""), detail]),
      problems,
    );
  });
}

/** Follows a JSON Pointer as RFC 6901 section 4 says. */
function follow(value: unknown, pointer: string): unknown {
  return pointer.split("/").slice(1).reduce(
    (inner, token) => Object(inner)[token.replaceAll("~1", "/").replaceAll("~0", "~")],
    value,
  );
}

Deno.test("a pointer leads to the value of its path, whatever the names", () => {
  const names = fc.array(
    fc.oneof(fc.string(), fc.constantFrom("", "~", "/", "~1", "~0", "a/b", "~~//")),
    { minLength: 1, maxLength: 5 },
  ).filter((path) => !path.includes("__proto__"));
  fc.assert(fc.property(names, (path) => {
    const value = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), "found");
    assertEquals(follow(value, pointer(...path)), "found");
  }));
  assertEquals(pointer(), "");
  assertEquals(pointer("conditions", 0, "a/b"), "/conditions/0/a~1b");
});

Deno.test("of a value with very much that is wrong a hundred things are told, or that it is too much", () => {
  const problemsOf = (schema: z.ZodType, value: unknown) =>
    assertThrows(() => parseWith(schema, value, "it"), InvalidInputError).problems;
  const many = new Array(200_000).fill(1);
  const list = problemsOf(z.strictObject({ list: z.array(z.string()) }), { list: many });
  assertEquals(list.length, 100);
  assertEquals(list[99], { pointer: "/list/99", detail: "Expected a string, found 1" });
  const unknown = problemsOf(z.strictObject({}), Object.fromEntries(many.map((_, i) => [i, 1])));
  assertEquals(unknown.length, 100);
  const filter = { type: "payload_filter", all: new Array(300_000).fill(1) };
  const trigger = problemsOf(triggerSchema, {
    name: "a",
    project: "p",
    conditions: [filter],
    actions: [{ type: "fetch_repository" }],
  });
  assertEquals(trigger, [{ pointer: "", detail: "Cannot be read: too much of it is wrong" }]);
});
