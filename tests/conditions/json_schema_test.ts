/** A JSON Schema as a condition: what it lets pass, what it says of the rest, and which schemas are refused. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import type { ConditionContext } from "../../src/conditions/condition.ts";
import { conditionWarnings } from "../../src/conditions/mod.ts";
import { jsonSchema } from "../../src/conditions/json_schema.ts";
import { compileSchema } from "../../src/conditions/json_schema/validator.ts";
import { assertTakesLess } from "../surroundings.ts";
import { checkOnce, context, form, json, problemsOf, type RequestParts } from "./fixture.ts";

interface Case {
  name: string;
  schema: unknown;
  body: unknown;
  /** The place in the body and the keyword that refuse it; none lets it pass. */
  refused?: [at: string, keyword: string, expected: string, found: string];
}

const object = (properties: unknown, more = {}) => ({ type: "object", properties, ...more });

const cases: Case[] = [
  { name: "true", schema: true, body: {} },
  {
    name: "false",
    schema: false,
    body: {},
    refused: [
      "the body",
      "there must be none",
      "no such property or element",
      "an object with no properties",
    ],
  },
  { name: "a type", schema: object({ n: { type: "integer" } }), body: { n: 3 } },
  {
    name: "another type",
    schema: object({ n: { type: ["integer", "null"] } }),
    body: { n: "3" },
    refused: ["/n", "type", "integer or null", '"3"'],
  },
  {
    name: "deep, in a list",
    schema: object({ l: { items: object({ "a/b": { minimum: 2 } }) } }),
    body: { l: [{ "a/b": 2 }, { "a/b": 1 }] },
    refused: ["/l/1/a~1b", "minimum", "at least 2", "1"],
  },
  {
    name: "required",
    schema: object({}, { required: ["a", "b"] }),
    body: { a: 1 },
    refused: ["the body", "required", 'the property "b"', 'an object with "a"'],
  },
  {
    name: "names of JavaScript are no properties",
    schema: object({}, { required: ["constructor", "__proto__"] }),
    body: {},
    refused: ["the body", "required", 'the property "constructor"', "an object with no properties"],
  },
  {
    name: "a property that another one demands",
    schema: { dependentRequired: { x: ["y"], a: ["a", "b"] } },
    body: { a: 1 },
    refused: ["the body", "dependentRequired", 'the property "b"', 'an object with "a"'],
  },
  {
    name: "an element that is missing",
    schema: { contains: { const: 5 } },
    body: [1],
    refused: [
      "the body",
      "contains",
      "an element that matches the schema of `contains`",
      "a list of 1",
    ],
  },
  {
    name: "too few elements of a kind",
    schema: { contains: { const: 5 }, minContains: 2 },
    body: [5],
    refused: [
      "the body",
      "minContains",
      "at least 2 elements that match the schema of `contains`",
      "a list of 1",
    ],
  },
  {
    name: "too many elements of a kind",
    schema: { contains: { const: 5 }, maxContains: 1 },
    body: [5, 5],
    refused: [
      "the body",
      "maxContains",
      "at most 1 elements that match the schema of `contains`",
      "a list of 2",
    ],
  },
  {
    name: "equal elements",
    schema: { uniqueItems: true },
    body: [1, 2, 1],
    refused: ["the body", "uniqueItems", "elements that differ from each other", "a list of 3"],
  },
  {
    name: "an enum",
    schema: object({ a: { enum: ["x", 1, null] } }),
    body: { a: "y" },
    refused: ["/a", "enum", 'one of "x", 1, null', '"y"'],
  },
  {
    name: "a constant object",
    schema: { const: { a: [1] } },
    body: { a: [2] },
    refused: ["the body", "const", '{"a":[1]}', 'an object with "a"'],
  },
  {
    name: "no other properties",
    schema: object({ a: true }, { additionalProperties: false }),
    body: { a: 1, toString: 2 },
    refused: ["/toString", "there must be none", "no such property or element", "2"],
  },
  {
    name: "a format",
    schema: object({ t: { format: "date-time" } }),
    body: { t: "yesterday" },
    refused: ["/t", "format", "the format date-time", '"yesterday"'],
  },
  {
    name: "a date and time with a space between them",
    schema: object({ t: { format: "date-time" } }),
    body: { t: "2026-01-31 12:00:00Z" },
    refused: ["/t", "format", "the format date-time", '"2026-01-31 12:00:00Z"'],
  },
  {
    name: "an address with a leading zero",
    schema: object({ t: { format: "ipv4" } }),
    body: { t: "10.0.0.010" },
    refused: ["/t", "format", "the format ipv4", '"10.0.0.010"'],
  },
  {
    name: "addresses and times",
    schema: object({ t: { format: "ipv4" }, u: { format: "date-time" } }),
    body: { t: "255.0.10.199", u: "2026-01-31t12:00:00.5+02:00" },
  },
  { name: "an unknown format", schema: object({ t: { format: "color" } }), body: { t: "x" } },
  {
    name: "a format that the package checks with patterns that backtrack",
    schema: object({ t: { format: "uri-template" } }),
    body: { t: "{" },
  },
  {
    name: "a pattern",
    schema: object({ t: { pattern: "^v\\d+$" } }),
    body: { t: "v1x" },
    refused: ["/t", "pattern", "a match of ^v\\d+$", '"v1x"'],
  },
  {
    name: "a pattern and a format",
    schema: object({ t: { pattern: "^2", format: "date" } }),
    body: { t: "2x" },
    refused: ["/t", "format", "the format date", '"2x"'],
  },
  {
    name: "patterns of names",
    schema: { patternProperties: { "^x-": { type: "integer" } }, additionalProperties: false },
    body: { "x-a": 1, "x-b": "s" },
    refused: ["/x-b", "type", "integer", '"s"'],
  },
  {
    name: "patterns of names leave other names",
    schema: { patternProperties: { "^x-": true }, additionalProperties: false },
    body: { "x-a": 1, y: "s" },
    refused: ["/y", "there must be none", "no such property or element", '"s"'],
  },
  {
    name: "a reference into what has patterns of names",
    schema: {
      properties: { xa: { type: "string" }, other: { $ref: "#/properties/xa" } },
      patternProperties: { "^x": { maxLength: 2 } },
    },
    body: { xa: "ab", other: "abcd" },
  },
  ...[[{}, true], [[{}, 7], false], [[[[]]], true], [[[["x"]]], false]].map((
    [body, passes],
  ): Case => ({
    name: `a dynamic reference: ${JSON.stringify(body)}`,
    schema: {
      $id: "https://schemas.example/tree",
      $dynamicAnchor: "node",
      type: ["array", "object"],
      items: { $dynamicRef: "#node" },
    },
    body,
    ...(passes ? {} : {
      refused: Array.isArray(body) && body.length === 2
        ? ["/1", "type", "array or object", "7"]
        : ["/0/0/0", "type", "array or object", '"x"'],
    }),
  })),
  {
    name: "a reference beside a dynamic one",
    schema: {
      $defs: { a: { $anchor: "n", $dynamicAnchor: "n", minimum: 3 }, b: { maximum: 9 } },
      items: { $ref: "#/$defs/b", $dynamicRef: "#n" },
    },
    body: [3, 9, 2],
    refused: ["/2", "minimum", "at least 3", "2"],
  },
  {
    name: "a dynamic reference beside one",
    schema: {
      $defs: { a: { $dynamicAnchor: "n", minimum: 3 }, b: { maximum: 9 } },
      items: { $ref: "#/$defs/b", $dynamicRef: "#/$defs/a" },
    },
    body: [3, 9, 10],
    refused: ["/2", "maximum", "at most 9", "10"],
  },
  {
    name: "references and anchors",
    schema: {
      $id: "https://example.com/s",
      $ref: "https://example.com/s#/$defs/a",
      $defs: { a: object({ next: { $ref: "#node" } }), b: { $anchor: "node", type: "null" } },
    },
    body: { next: 1 },
    refused: ["/next", "type", "null", "1"],
  },
  {
    name: "a recursive schema",
    schema: object({ next: { $ref: "#" } }, { required: ["v"] }),
    body: { v: 1, next: { v: 2, next: {} } },
    refused: ["/next/next", "required", 'the property "v"', "an object with no properties"],
  },
  {
    name: "one of several",
    schema: { anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    body: { c: 1 },
    refused: ["the body", "anyOf", "one of 2 schemas", 'an object with "c"'],
  },
  {
    name: "conditions",
    schema: { if: object({ k: { const: 1 } }), then: { required: ["v"] } },
    body: { k: 1 },
    refused: ["the body", "required", 'the property "v"', 'an object with "k"'],
  },
  {
    name: "an integer beyond 2^53",
    schema: object({ id: { type: "integer", minimum: 1 } }),
    body: '{"id": 9223372036854775807}',
  },
];

function requestOf({ body }: Case): RequestParts {
  return typeof body === "string"
    ? { headers: { "content-type": "application/json" }, body }
    : json(body);
}

/** Makes the body too long for a check at once. */
function lengthened(parts: RequestParts): RequestParts {
  return { ...parts, body: parts.body + " ".repeat(70_000) };
}

for (const one of cases) {
  Deno.test(`json_schema: ${one.name}`, async () => {
    for (const parts of [requestOf(one), lengthened(requestOf(one))]) {
      const refusal = await checkOnce(jsonSchema, { schema: one.schema }, parts);
      if (one.refused === undefined) {
        assertEquals(refusal, undefined);
        continue;
      }
      const [at, keyword, expected, found] = one.refused;
      assertEquals(refusal, {
        reason: `The body does not match the schema at ${at}: ${keyword}`,
        expected,
        found,
      });
    }
  });
}

Deno.test("json_schema: a form is an object of texts, and another body is refused", async () => {
  const settings = { schema: object({ a: { type: "string" } }, { required: ["a"] }) };
  assertEquals(await checkOnce(jsonSchema, settings, form("a=1&b=2")), undefined);
  const refusal = await checkOnce(jsonSchema, settings, { body: "\xff\xfe" });
  assertMatch(refusal?.reason ?? "", /neither JSON nor a form/);
});

const mistakes: [name: string, schema: unknown, problem: RegExp][] = [
  ["no schema", [1], /^\/schema: /],
  [
    "a misspelt type",
    object({ a: { type: "int" } }),
    /^\/schema\/properties\/a\/type: Expected one or some of array/,
  ],
  [
    "a remote reference",
    { $ref: "https://example.com/x" },
    /^\/schema\/\$ref: Expected a reference within/,
  ],
  ["a reference to nothing", { $ref: "#/$defs/x" }, /^\/schema\/\$ref: There is no schema at/],
  ["a circle", { $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } } }, /Refers to itself/],
  [
    "a pattern that RE2 has not",
    object({ a: { pattern: "(?=x)" } }),
    /^\/schema\/properties\/a\/pattern: Invalid pattern/,
  ],
  [
    "a pattern of names",
    { patternProperties: { "(": true } },
    /^\/schema\/patternProperties\/\(: Invalid pattern/,
  ],
  [
    "another draft",
    { $schema: "http://json-schema.org/draft-07/schema#" },
    /^\/schema\/\$schema: Expected https/,
  ],
  ["a list of items", { items: [true] }, /prefixItems takes a list/],
  ["a keyword of another draft", { dependencies: {} }, /dependentRequired/],
  ["a dynamic reference to nothing", { $dynamicRef: "#a" }, /no schema at "#a"/],
  ["a dynamic reference elsewhere", { $dynamicRef: "https://x.example/#a" }, /within this schema/],
  [
    "a dynamic reference to itself",
    { $dynamicAnchor: "a", allOf: [{ $dynamicRef: "#a" }] },
    /it has no end/,
  ],
  [
    "two dynamic anchors of one name",
    { $defs: { a: { $dynamicAnchor: "n" }, b: { $dynamicAnchor: "n" } } },
    /each anchor once/,
  ],
  ["a recursive reference", { $recursiveRef: "#" }, /\$dynamicRef in place of/],
  ["a negative length", { minLength: -1 }, /^\/schema\/minLength: Expected a whole number/],
  ["a multiple of 0", { multipleOf: 0 }, /^\/schema\/multipleOf: Expected a number above 0/],
  [
    "a name of a schema within",
    { $defs: { a: { $id: "https://example.com/a" } } },
    /^\/schema\/\$defs\/a\/\$id: Expected \$id in the whole schema alone/,
  ],
  [
    "a reference to what patterns of names have",
    { $ref: "#/patternProperties/a", patternProperties: { a: true } },
    /^\/schema\/\$ref: Expected a reference to a schema in \$defs/,
  ],
  ["a schema that is a text", "draft", /\{file:\/absolute\/path\}/],
  ["too deep", nested(33), /at most 32 levels/],
  ["too many", { allOf: Array(2_000).fill(true) }, /at most 2000 schemas/],
  ["too long", described(64 * 1024 + 1), /at most 65536 bytes, found 65537/],
];

/** Returns a schema with so many levels. */
function nested(levels: number): unknown {
  return JSON.parse(`${'{"not":'.repeat(levels - 1)}true${"}".repeat(levels - 1)}`);
}

/** Returns a schema of so many bytes. */
function described(bytes: number): unknown {
  return { description: "x".repeat(bytes - '{"description":""}'.length) };
}

for (const [name, schema, problem] of mistakes) {
  Deno.test(`json_schema is not saved with ${name}`, () => {
    assertMatch(problemsOf(jsonSchema, { schema }).join("\n"), problem);
  });
}

Deno.test("json_schema is saved up to its limits", () => {
  for (const schema of [nested(32), { allOf: Array(1_999).fill(true) }, described(64 * 1024)]) {
    assertEquals(problemsOf(jsonSchema, { schema }), []);
  }
});

Deno.test("json_schema: what may take long is checked in the Worker, and nothing else", async () => {
  const list = (length: number) => Array.from({ length }, (_, index) => index);
  const named = (length: number) => Object.fromEntries(list(length).map((name) => [name, 1]));
  const text = { type: "string" };
  const cases: [what: string, schema: unknown, body: unknown, isLong: boolean][] = [
    ["a short one", object({ n: { type: "integer" } }), { n: 1 }, false],
    ["a reference", { $ref: "#/$defs/a", $defs: { a: true } }, 1, true],
    ["unique items", object({ l: { uniqueItems: true } }), { l: [1] }, true],
    ["items that may repeat", object({ l: { uniqueItems: false } }), { l: [1] }, false],
    ["patterns of names", { patternProperties: { "^x": true } }, 1, true],
    ["a constant object", { const: {} }, 1, true],
    ["a constant list", { const: [] }, 1, true],
    ["a constant", { const: "a" }, 1, false],
    ["a long body", true, "x".repeat(64 * 1024), true],
    ["a body that is nearly so long", true, "x".repeat(64 * 1024 - 2), false],
    ["some values", { items: true }, list(5_000), false],
    ["many values", { items: true }, list(10_000), true],
    ["some alternatives", { items: { anyOf: [text, true] } }, list(100), false],
    ["many alternatives", { items: { oneOf: [...Array(17).fill(text), true] } }, list(900), true],
    ["a search in a list", { contains: text }, list(2_000), true],
    ["numbers to divide", { items: { multipleOf: 2 } }, list(3_000), false],
    ["numbers to divide by a fraction", { items: { multipleOf: 0.01 } }, list(3_000), true],
    ["a short text with a format", { format: "email" }, "x".repeat(1_000), false],
    ["a long text with a format", { format: "email" }, "x".repeat(40_000), true],
    ["a long text with a format that is not checked", { format: "x" }, "x".repeat(40_000), false],
    ["many choices", { items: { enum: list(1_000) } }, list(100), true],
    ["many required names", { items: { required: list(1_000).map(String) } }, list(100), true],
    ["a long pattern", { pattern: "a{500}" }, "x".repeat(1_000), true],
    ["a short pattern", { pattern: "a{5}" }, "x".repeat(1_000), false],
    ["some names", true, named(1_000), false],
    ["many names", true, named(1_001), true],
  ];
  for (const [what, schema, body, isLong] of cases) {
    const jobs: string[] = [];
    const heavyWork: ConditionContext["heavyWork"] = {
      run(kind: string) {
        jobs.push(kind);
        // No refusal.
        return Promise.resolve(undefined as never);
      },
    };
    await checkOnce(jsonSchema, { schema }, json(body), { ...context(), heavyWork });
    assertEquals(jobs, isLong ? ["schema"] : [], what);
  }
});

Deno.test("json_schema warns of what checks nothing", () => {
  const settings = jsonSchema.schema.parse({
    type: "json_schema",
    schema: object({ a: { format: "color", "x-note": 1 } }),
  });
  const pointers = conditionWarnings([settings]).map(({ pointer }) => pointer);
  assertEquals(pointers, ["/0/schema/properties/a/x-note", "/0/schema/properties/a/format"]);
});

Deno.test("json_schema: no pattern backtracks", async () => {
  const body = { t: `${"a".repeat(20_000)}!`, [`${"a".repeat(2_000)}!`]: 1 };
  const schemas = [
    object({ t: { pattern: "^(a+)+$" } }),
    { patternProperties: { "^(a+)+$": false } },
    { propertyNames: { pattern: "^(a|a)*$" } },
  ];
  for (const schema of schemas) {
    await assertTakesLess(
      1_000,
      async () => void await checkOnce(jsonSchema, { schema }, json(body)),
    );
  }
});

Deno.test("json_schema: the package alone says the same of schemas with simple patterns", () => {
  const name = fc.constantFrom("a", "ab", "b", "xa", "x");
  const leaf = fc.constantFrom<unknown>(true, false, { type: "string" }, { pattern: "^a" }, {
    minimum: 2,
  });
  const schema = fc.record({
    properties: fc.dictionary(name, leaf),
    patternProperties: fc.dictionary(fc.constantFrom("^a", "b$", "x"), leaf),
    additionalProperties: leaf,
    unevaluatedProperties: leaf,
    propertyNames: fc.constantFrom<unknown>(true, { pattern: "a" }),
    allOf: fc.array(fc.record({ patternProperties: fc.dictionary(fc.constantFrom("^x"), leaf) }), {
      minLength: 1,
      maxLength: 2,
    }),
  }, { requiredKeys: [] });
  const value = fc.dictionary(name, fc.oneof(fc.integer({ min: 0, max: 3 }), name));
  fc.assert(
    fc.property(schema, value, (schema, value) => {
      // A copy: the package marks the schema.
      const plain =
        new Validator(structuredClone(schema) as object, "2020-12").validate(value).valid;
      const own =
        compileSchema(schema as Record<string, unknown>).mismatches(value).errors.length === 0;
      assert(plain === own, JSON.stringify({ schema, value, plain, own }));
    }),
    { numRuns: 500 },
  );
});
