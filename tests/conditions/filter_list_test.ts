/**
 * A filter list says what an expression can say, in plain JSON. Its clauses are false of a value that
 * is missing or of another kind, and the log says so; nothing that a list holds can become a part of
 * the expression but as a value.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { payloadFilter } from "../../src/conditions/payload_filter.ts";
import {
  checkOnce,
  context,
  form,
  json,
  problemsOf,
  request,
  type RequestParts,
} from "./fixture.ts";

type List = Record<string, unknown>;

const issue = json({
  action: "opened",
  count: 5,
  ratio: 1.5,
  huge: 1e300,
  draft: false,
  nothing: null,
  labels: ["bug", "deploy", 7],
  commits: [{ id: "a1" }, { id: "b2", "tree.name": "main", "a\\b": 1 }],
  "0": "zero",
  nested: { a: { b: "deep" } },
});

const clause = (path: string, op: string, ...value: unknown[]): List => ({
  path,
  op,
  ...(value.length > 0 && { value: value[0] }),
});

const passing: { clause: List; parts?: RequestParts }[] = [
  { clause: clause("body.action", "eq", "opened") },
  { clause: clause("body.count", "eq", 5) },
  { clause: clause("body.count", "eq", 5.0) },
  { clause: clause("body.ratio", "eq", 1.5) },
  { clause: clause("body.huge", "eq", 1e300) },
  { clause: clause("body.draft", "eq", false) },
  { clause: clause("body.nothing", "eq", null) },
  { clause: clause("body.action", "ne", "closed") },
  { clause: clause("body.count", "ne", 5.5) },
  { clause: clause("body.action", "ne", null) },
  { clause: clause("body.labels", "ne", null) },
  { clause: clause("body.count", "lt", 5.5) },
  { clause: clause("body.count", "le", 5) },
  { clause: clause("body.ratio", "gt", -1) },
  { clause: clause("body.count", "ge", 5) },
  { clause: clause("body.action", "lt", "p") },
  { clause: clause("body.action", "in", ["opened", "reopened"]) },
  { clause: clause("body.count", "in", ["x", 5]) },
  { clause: clause("body.nothing", "in", [null, "x"]) },
  { clause: clause("body.action", "not_in", ["closed"]) },
  { clause: clause("body.action", "not_in", [1, "closed"]) },
  { clause: clause("body.action", "not_in", [null]) },
  { clause: clause("body.action", "contains", "pen") },
  { clause: clause("body.labels", "contains", "bug") },
  { clause: clause("body.labels", "contains", 7) },
  { clause: clause("body.action", "starts_with", "op") },
  { clause: clause("body.action", "ends_with", "ed") },
  { clause: clause("body.action", "matches", "^open(ed)?$") },
  { clause: clause("body.nothing", "exists") },
  { clause: clause("body.action", "exists", true) },
  { clause: clause("body.missing", "exists", false) },
  { clause: clause("body.action.deeper", "exists", false) },
  { clause: clause("body.labels.3", "exists", false) },
  { clause: clause("body", "exists") },
  // Indexes and keys.
  { clause: clause("body.commits.0.id", "eq", "a1") },
  { clause: clause("body.commits.1.tree\\.name", "eq", "main") },
  { clause: clause("body.commits.1.a\\\\b", "eq", 1) },
  { clause: clause("body.\\0", "eq", "zero") },
  { clause: clause("body.0", "exists", false) },
  { clause: clause("body.nested.a.b", "eq", "deep") },
  // The other variables.
  { clause: clause("raw", "contains", '"action":"opened"') },
  { clause: clause("content_type", "eq", "application/json") },
  { clause: clause("remote_ip", "starts_with", "192.0.2.") },
  {
    clause: clause("headers.X-GitHub-Event", "eq", "push"),
    parts: { headers: { "x-github-event": "push" } },
  },
  { clause: clause("headers.7", "eq", "x"), parts: { headers: { "7": "x" } } },
  { clause: clause("query.a", "eq", "1"), parts: { query: "a=1" } },
  { clause: clause("query.7", "eq", "x"), parts: { query: "7=x" } },
  { clause: clause("query.b.1", "eq", "3"), parts: { query: "b=2&b=3" } },
  { clause: clause("body.a", "eq", "x"), parts: form("a=x") },
  // Groups.
  { clause: { any: [clause("body.missing", "eq", 1), clause("body.count", "eq", 5)] } },
  { clause: { all: [clause("body.action", "exists"), { not: clause("body.draft", "eq", true) }] } },
  { clause: { not: clause("body.missing", "eq", "x") } },
  { clause: { not: clause("body.missing", "ne", "x") } },
  { clause: { not: clause("body.missing", "exists") } },
  { clause: { not: clause("body.count", "starts_with", "5") } },
  { clause: { not: clause("body.nested", "contains", "a") } },
  { clause: { not: clause("body.action", "lt", 5) } },
  { clause: { not: { any: [clause("body.x", "eq", 1), clause("body.labels.9", "eq", 1)] } } },
];

for (const { clause, parts = issue } of passing) {
  Deno.test(`payload_filter passes the clause ${JSON.stringify(clause)}`, async () => {
    assertEquals(await checkOnce(payloadFilter, { all: [clause] }, parts), undefined);
    const negated = { not: clause };
    assert(await checkOnce(payloadFilter, negated, parts), "not must refuse what passes");
  });
}

const refused: { list: List; reason?: string; expected: string; found?: string }[] = [
  {
    list: { all: [clause("body.count", "eq", 5), clause("body.action", "in", ["closed"])] },
    expected: 'body.action in ["closed"]',
    found: 'body.action is "opened"',
  },
  {
    list: { all: [clause("body.missing", "eq", "x")] },
    reason: "body.missing is missing",
    expected: 'body.missing eq "x"',
    found: "body.missing is missing",
  },
  ...["ne", "lt", "ge", "contains", "starts_with", "matches"].map((op) => ({
    list: { all: [clause("body.missing.deeper", op, "x")] },
    reason: "body.missing.deeper is missing",
    expected: `body.missing.deeper ${op} "x"`,
    found: "body.missing.deeper is missing",
  })),
  {
    list: { all: [clause("headers.x-event", "not_in", ["x"])] },
    reason: "headers.x-event is missing",
    expected: 'headers.x-event not_in ["x"]',
    found: "headers.x-event is missing",
  },
  {
    list: { all: [clause("body.labels.7", "exists")] },
    reason: "body.labels.7 is missing",
    expected: "body.labels.7 exists",
    found: "body.labels.7 is missing",
  },
  {
    list: { all: [clause("body.action", "exists", false)] },
    expected: "body.action exists false",
    found: 'body.action is "opened"',
  },
  ...["eq", "ne", "lt"].map((op) => ({
    list: { all: [clause("body.count", op, "5")] },
    reason: "body.count is no string",
    expected: `body.count ${op} "5"`,
    found: "body.count is 5",
  })),
  {
    list: { all: [clause("body.nothing", "not_in", ["a", 1])] },
    reason: "body.nothing is no string or number",
    expected: 'body.nothing not_in ["a",1]',
    found: "body.nothing is null",
  },
  {
    list: { all: [clause("body.nested", "contains", "a")] },
    reason: "body.nested is no string or list",
    expected: 'body.nested contains "a"',
    found: "body.nested is a map of 1",
  },
  {
    list: { all: [clause("body.action", "contains", 5)] },
    reason: "body.action is no list",
    expected: "body.action contains 5",
    found: 'body.action is "opened"',
  },
  {
    list: { any: [clause("body.count", "gt", 5), clause("body.missing", "eq", 1)] },
    expected: "any(body.count gt 5, body.missing eq 1)",
    found: "body.count is 5; body.missing is missing",
  },
  {
    list: { not: clause("body.action", "eq", "opened") },
    expected: 'not(body.action eq "opened")',
    found: 'body.action is "opened"',
  },
  {
    list: { all: [{ all: [clause("body.count", "eq", 5), clause("body.draft", "eq", true)] }] },
    expected: "body.draft eq true",
    found: "body.draft is false",
  },
  {
    list: { any: [{ all: [clause("body.count", "eq", 4), { not: clause("body.x", "ne", 1) }] }] },
    expected: "any(all(body.count eq 4, not(body.x ne 1)))",
    found: "body.count is 5; body.x is missing",
  },
];

for (const { list, reason, expected, found } of refused) {
  Deno.test(`payload_filter refuses by the list ${JSON.stringify(list)}`, async () => {
    assertEquals(await checkOnce(payloadFilter, list, issue), {
      reason: `Payload filter is false${reason === undefined ? "" : `: ${reason}`}`,
      expected,
      ...(found !== undefined && { found }),
    });
  });
}

Deno.test("payload_filter: a list shows no credential", async () => {
  const surroundings = context({ credentials: [{ in: "header", name: "X-Token" }] });
  const parts = { headers: { "x-token": "s3cret-token", "x-other": "<s3cret-token>" } };
  const list = {
    any: [clause("headers.x-token", "eq", "x"), clause("headers.x-other", "eq", "x")],
  };
  assertEquals(await checkOnce(payloadFilter, list, parts, surroundings), {
    reason: "Payload filter is false",
    expected: 'any(headers.x-token eq "x", headers.x-other eq "x")',
    found: "headers.x-token is not shown; headers.x-other is not shown",
  });
});

Deno.test("payload_filter: what a refusal by a list says is cut off", async () => {
  const path = `body.${"a".repeat(240)}`;
  const refusal = await checkOnce(payloadFilter, { all: [clause(path, "eq", "x")] }, issue);
  assertEquals(refusal, {
    reason: `Payload filter is false: ${path}`.slice(0, 200) + "…",
    expected: `${path.slice(0, 200)}…`,
    found: `${path.slice(0, 200)}…`,
  });
});

const notSaved: { name: string; settings: List; problems: string[] }[] = [
  {
    name: "neither an expression nor a list",
    settings: {},
    problems: ["/: Must have one of expression, all, any, not: found none"],
  },
  {
    name: "an expression and a list",
    settings: { expression: "true", all: [clause("raw", "exists")] },
    problems: ["/: Must have one of expression, all, any, not: found expression, all"],
  },
  {
    name: "two groups",
    settings: { any: [clause("raw", "exists")], not: clause("raw", "exists") },
    problems: ["/: Must have one of expression, all, any, not: found any, not"],
  },
  {
    name: "a group of none",
    settings: { all: [] },
    problems: ["/all: Too small: expected array to have >=1 items"],
  },
  {
    name: "an empty clause",
    settings: { all: [{}] },
    problems: ["/all/0: Must have path and op, or one of all, any and not: found nothing"],
  },
  {
    name: "a clause without an operator",
    settings: { not: { path: "raw" } },
    problems: ["/not: Must have path and op, or one of all, any and not: found path"],
  },
  {
    name: "a clause that is a group as well",
    settings: { all: [{ ...clause("raw", "exists"), any: [clause("raw", "exists")] }] },
    problems: ["/all/0: Must have path and op, or one of all, any and not: found path, op, any"],
  },
  {
    name: "an unknown operator",
    settings: { all: [clause("body.a", "equals", 1)] },
    problems: [
      "/all/0/op: Must be one of eq, ne, lt, le, gt, ge, in, not_in, contains, starts_with, " +
      'ends_with, matches, exists: found "equals"',
    ],
  },
  {
    name: "an unknown field",
    settings: { all: [{ ...clause("body.a", "eq", 1), values: [] }] },
    problems: ['/all/0: Unrecognized key: "values"'],
  },
  {
    name: "a path that is no string",
    settings: { all: [{ path: 5, op: "exists" }] },
    problems: ["/all/0/path: Invalid input: expected string, received number"],
  },
  {
    name: "a value that is a map",
    settings: { all: [clause("body.a", "eq", { b: 1 })] },
    problems: [
      "/all/0/value: Must be a string, a number, true, false, null, or a list of such: " +
      'found {"b":1}',
    ],
  },
  {
    name: "a list for one value",
    settings: { any: [clause("raw", "exists"), clause("body.a", "eq", ["b"])] },
    problems: ['/any/1/value: Must be a string, a number, true, false or null: found ["b"]'],
  },
  {
    name: "no value",
    settings: { all: [clause("body.a", "ne")] },
    problems: ["/all/0/value: Must be a string, a number, true, false or null: found nothing"],
  },
  {
    name: "one value for a list",
    settings: { all: [clause("body.a", "in", "b")] },
    problems: [
      "/all/0/value: Must be a list of strings, numbers, true, false or null, with one at least: " +
      'found "b"',
    ],
  },
  {
    name: "an order of booleans",
    settings: { all: [clause("body.a", "gt", true)] },
    problems: ["/all/0/value: Must be a string or a number: found true"],
  },
  {
    name: "a beginning that is a number",
    settings: { all: [clause("body.a", "starts_with", 1)] },
    problems: ["/all/0/value: Must be a string: found 1"],
  },
  {
    name: "a pattern that is none",
    settings: { not: { all: [clause("body.a", "matches", "(")] } },
    problems: ["/not/all/0/value: Invalid pattern: missing closing )"],
  },
  {
    name: "what exists compared",
    settings: { all: [clause("body.a", "exists", 1)] },
    problems: ["/all/0/value: Must be true, false or left out: found 1"],
  },
  {
    name: "half of a surrogate pair",
    settings: { all: [clause("body.a", "in", ["\ud800"])] },
    problems: ["/all/0/value: Must be well-formed Unicode: found half of a surrogate pair"],
  },
  {
    name: "an unknown variable",
    settings: { all: [clause("bdoy.a", "exists")] },
    problems: [
      "/all/0/path: Must begin with one of body, raw, headers, query, content_type, remote_ip: " +
      'found "bdoy"',
    ],
  },
  {
    name: "an empty path",
    settings: { all: [clause("", "exists")] },
    problems: [
      "/all/0/path: Must begin with one of body, raw, headers, query, content_type, remote_ip: " +
      'found ""',
    ],
  },
  {
    name: "a field of a string",
    settings: { all: [clause("raw.a", "exists")] },
    problems: ["/all/0/path: Must end here: 'raw' is a string"],
  },
  ...[".", "body.", ".body", "body..a", "body.a\\", "body.\\a", "body.\ud800"].map((path) => ({
    name: `the path ${path}`,
    settings: { all: [clause(path, "exists")] },
    problems: [
      "/all/0/path: Must be parts between dots, with a backslash before a dot or a backslash in a " +
      `part: found ${JSON.stringify(path)}`,
    ],
  })),
  {
    name: "a path that is too long",
    settings: { all: [clause(`body.${"a".repeat(252)}`, "exists")] },
    problems: ["/all/0/path: Must have at most 256 characters"],
  },
  {
    name: "groups too deep",
    settings: { all: [{ any: [{ not: { all: [clause("raw", "exists")] } }] }] },
    problems: [
      "/all/0/any/0/not: Has groups nested deeper than 3 levels: write an expression instead",
    ],
  },
  {
    name: "more than an expression may hold",
    settings: { all: [clause("body.a", "in", Array(1000).fill(1))] },
    problems: ["/all: As an expression: Has more than 1000 parts"],
  },
  {
    name: "longer than an expression may be",
    settings: { any: [clause("body.a", "eq", "x".repeat(4096))] },
    problems: ["/any: As an expression: Must have at most 4096 bytes"],
  },
];

for (const { name, settings, problems } of notSaved) {
  Deno.test(`payload_filter cannot be saved: ${name}`, () => {
    assertEquals(problemsOf(payloadFilter, settings), problems);
  });
}

Deno.test("payload_filter: groups stand in one another three levels deep", () => {
  const settings = { all: [{ any: [{ not: clause("raw", "exists") }] }] };
  assertEquals(problemsOf(payloadFilter, settings), []);
});

Deno.test("payload_filter: groups however deep are refused, not overflowed by", () => {
  let settings: List = clause("raw", "exists");
  for (let i = 0; i < 10_000; i++) settings = { not: settings };
  assertEquals(problemsOf(payloadFilter, settings).length, 1);
});

Deno.test("payload_filter: a list that is stored and no longer compiles refuses", async () => {
  const stored = {
    type: "payload_filter" as const,
    all: Array(300).fill({ path: "raw", op: "eq" as const, value: "" }),
  };
  assertEquals(await payloadFilter.prepare(stored, context())(request(issue)), {
    reason: "Payload filter cannot be used: Must have at most 4096 bytes",
  });
});

const anyText = fc.string({ unit: "binary", maxLength: 30 }).filter((text) => text.isWellFormed());

Deno.test("payload_filter: any string is compared as it is", () => {
  return fc.assert(
    fc.asyncProperty(anyText, anyText, async (value, other) => {
      const parts = json({ a: value, list: [other, value] });
      const list = {
        all: [
          clause("body.a", "eq", value),
          clause("body.a", "in", [other, value]),
          clause("body.list", "contains", value),
          clause("body.a", "starts_with", value),
          { not: clause("body.a", "ne", value) },
          { not: { not: clause("body.a", "ends_with", value) } },
        ],
      };
      assertEquals(await checkOnce(payloadFilter, list, parts), undefined);
      const isSame = value === other;
      const refusal = await checkOnce(payloadFilter, { not: clause("body.a", "eq", other) }, parts);
      assertEquals(refusal !== undefined, isSame);
    }),
    {
      examples: [
        ['" == "" || true || "', "x"],
        ["\\", '"'],
        ["'''", '"""'],
        ["\n\r\t\0\u2028\u2029\u007f\ufeff", "\\u0041"],
        ["{}[]()", "//"],
      ],
    },
  );
});

Deno.test("payload_filter: any key is found by its path, and no other is", () => {
  const key = anyText.filter((text) => text !== "");
  const written = (name: string) =>
    name.replace(/[.\\]/g, "\\$&").replace(/^[0-9]+$/, (digits) => `\\${digits}`);
  return fc.assert(
    fc.asyncProperty(key, key, async (name, other) => {
      const place = clause(`body.${written(name)}.${written(other)}`, "eq", "here");
      const parts = json({ [name]: { [other]: "here" } });
      assertEquals(await checkOnce(payloadFilter, { all: [place] }, parts), undefined);
      assert(await checkOnce(payloadFilter, { not: place }, parts));
      const without = json({ [`${name}x`]: {}, [name]: { [`${other}x`]: "here" } });
      assertEquals(await checkOnce(payloadFilter, { not: place }, without), undefined);
      assertMatch(
        (await checkOnce(payloadFilter, { all: [place] }, without))?.reason ?? "",
        /^Payload filter is false: body\..*(is missing|…)$/s,
      );
    }),
    { examples: [["__proto__", "constructor"], ["toString", "a"], ['"]', "a"], ["0", "00"]] },
  );
});

type Json = fc.JsonValue;

/** What each operator means, of a value that is there. */
const meanings: Record<string, (found: Json, value: Json) => boolean> = {
  eq: (found, value) => found === value,
  ne: (found, value) => isComparable(found, [value]) && found !== value,
  lt: (found, value) => isComparable(found, [value]) && compare(found, value) < 0,
  ge: (found, value) => isComparable(found, [value]) && compare(found, value) >= 0,
  in: (found, value) => Array.isArray(value) && value.includes(found),
  not_in: (found, value) =>
    Array.isArray(value) && isComparable(found, value) && !value.includes(found),
  contains: (found, value) =>
    Array.isArray(found)
      ? found.includes(value)
      : typeof found === "string" && typeof value === "string" && found.includes(value),
  starts_with: (found, value) => typeof found === "string" && found.startsWith(String(value)),
};

function isComparable(found: Json, values: Json[]): boolean {
  return values.includes(null) || values.some((value) => typeof value === typeof found);
}

function compare(found: Json, value: Json): number {
  if (found === value) return 0;
  return (found ?? 0) < (value ?? 0) ? -1 : 1;
}

type Model = { path: string; op: string; value: Json } | { all: Model[] } | { any: Model[] } | {
  not: Model;
};

const scalar = fc.constantFrom<Json>("", "a", "ab", "b", -1, 0, 0.5, 2, true, false, null);
const order = fc.constantFrom<Json>("", "a", "b", -1, 0, 0.5, 2);
const path = fc.constantFrom("a", "b", "a.b", "a.0", "a.1.b", "b.a");
const plain: fc.Arbitrary<Model> = fc.oneof(
  fc.record({ path, op: fc.constantFrom("eq", "ne", "contains"), value: scalar }),
  fc.record({ path, op: fc.constantFrom("lt", "ge"), value: order }),
  fc.record({ path, op: fc.constant("starts_with"), value: fc.constantFrom<Json>("", "a") }),
  fc.record({
    path,
    op: fc.constantFrom("in", "not_in"),
    value: fc.array(scalar, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ path, op: fc.constant("exists"), value: fc.boolean() }),
);
const groups = (inner: fc.Arbitrary<Model>): fc.Arbitrary<Model> =>
  fc.oneof(
    fc.record({ all: fc.array(inner, { minLength: 1, maxLength: 3 }) }),
    fc.record({ any: fc.array(inner, { minLength: 1, maxLength: 3 }) }),
    fc.record({ not: inner }),
  );
const list = groups(fc.oneof(plain, groups(fc.oneof(plain, groups(plain)))));
const { body } = fc.letrec<{ body: Json }>((tie) => ({
  body: fc.oneof(
    { depthSize: "medium" },
    scalar,
    fc.array(tie("body"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b"), tie("body")),
  ),
}));

function holds(model: Model, body: Json): boolean {
  if ("all" in model) return model.all.every((inner) => holds(inner, body));
  if ("any" in model) return model.any.some((inner) => holds(inner, body));
  if ("not" in model) return !holds(model.not, body);
  const found = model.path.split(".").reduce<Json | undefined>(stepInto, body);
  if (model.op === "exists") return (found !== undefined) === model.value;
  return found !== undefined && (meanings[model.op]?.(found, model.value) ?? false);
}

function stepInto(value: Json | undefined, part: string): Json | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value) !== /^[0-9]$/.test(part)) return undefined;
  return Object.getOwnPropertyDescriptor(value, part)?.value;
}

Deno.test("payload_filter: a list means what its operators say, of any body", async () => {
  await fc.assert(
    fc.asyncProperty(list, body, async (model, value) => {
      const written = JSON.parse(
        JSON.stringify(model),
        (key, text) => key === "path" ? `body.${text}` : text,
      );
      const refusal = await checkOnce(payloadFilter, written, json(value));
      assertEquals(refusal === undefined, holds(model, value));
      if (refusal) assertMatch(refusal.reason, /^Payload filter is false/);
    }),
    { numRuns: 1000 },
  );
});
