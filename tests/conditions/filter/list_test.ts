/**
 * A filter list says what an expression can say, in plain JSON. Its clauses are false of a value that
 * is missing or of another kind, and the log says so.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { payloadFilter } from "../../../src/conditions/payload_filter.ts";
import { anyText, mutated } from "../../arbitraries.ts";
import { checkOnce, context, form, json, request, type RequestParts } from "../fixture.ts";

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

Deno.test("any list that is taken when it is saved can be used, and any other is refused with its place", async () => {
  const path = fc.oneof(
    fc.constantFrom("body.a", "body", "raw", "headers.X", "query.q", "body.list.0", "now", "body."),
    mutated("body.a\\.b.0.c", ".", "\\", "0", "\ud800", "😀", '"'),
  );
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    anyText,
    fc.array(fc.jsonValue({ maxDepth: 0 })),
  );
  const op = fc.constantFrom(
    ..."eq ne lt le gt ge in not_in contains starts_with ends_with matches exists nonsense".split(
      " ",
    ),
  );
  const clause = fc.record({ path, op, value }, { requiredKeys: [], noNullPrototype: true });
  const sound = fc.record({
    path: fc.constantFrom("body.a", "raw", "headers.X", "body.list.0"),
    op: fc.constantFrom("eq", "ne", "contains"),
    value: fc.oneof(fc.string(), fc.integer(), fc.constant(null)),
  }, { noNullPrototype: true });
  const { group } = fc.letrec<{ group: unknown }>((tie) => ({
    group: fc.oneof(
      { depthSize: "small" },
      clause,
      fc.record({ all: fc.array(tie("group"), { maxLength: 3 }) }, { noNullPrototype: true }),
      fc.record({ any: fc.array(tie("group"), { maxLength: 3 }) }, { noNullPrototype: true }),
      fc.record({ not: tie("group") }, { noNullPrototype: true }),
      fc.jsonValue({ maxDepth: 1 }),
    ),
  }));
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(sound, group), { minLength: 1, maxLength: 3 }),
      fc.jsonValue(),
      async (all, body) => {
        const settings = { type: "payload_filter", all };
        const result = payloadFilter.schema.safeParse(settings);
        if (!result.success) {
          for (const { path } of result.error.issues) {
            // The parent is there, even where the field is missing.
            const parent = path.slice(0, -1).reduce<unknown>(
              (inner, key) => Object(inner)[key],
              settings,
            );
            assertEquals(parent === undefined, false, path.join("/"));
          }
          return;
        }
        taken += 1;
        const refusal = await payloadFilter.prepare(result.data, context())(request(json(body)));
        const isBeyond = typeof body === "number" && Math.abs(body) >= 2 ** 63;
        const says = isBeyond
          ? /^Payload filter (is false|cannot read the body: a number beyond)/
          : /^Payload filter is false/;
        if (refusal) assertMatch(refusal.reason, says);
      },
    ),
    // A body that is one number beyond 64 bits is refused as a whole, and is seldom drawn.
    { numRuns: 400, examples: [[[{ path: "body.a", op: "eq", value: 0 }], 2 ** 63]] },
  );
  assertEquals(taken > 20, true, `${taken} were taken`);
});
