/**
 * A filter passes what its expression is true of. False and an error are both refusals, and the log
 * learns which clause it was and what was found there, but no credential.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { z } from "zod";
import { conditionSchema } from "../../src/conditions/mod.ts";
import { prepareConditions } from "../../src/conditions/prepare.ts";
import { payloadFilter } from "../../src/conditions/payload_filter.ts";
import type { Field } from "../../src/conditions/field.ts";
import { assertTakesLess } from "../surroundings.ts";
import { checkOnce, context, form, json, request, type RequestParts } from "./fixture.ts";

const issue = json({
  action: "opened",
  count: 5,
  ratio: 1.5,
  big: 9_007_199_254_740_993,
  draft: false,
  nothing: null,
  labels: [{ name: "bug" }, { name: "deploy" }],
  sizes: [1, 2, 3],
  nested: { a: { b: "deep" } },
});

const passing: { expression: string; parts?: RequestParts }[] = [
  { expression: "true" },
  { expression: "body.action == 'opened'" },
  { expression: "body.action in ['opened', 'reopened'] && body.count > 4" },
  { expression: "body.labels.exists(l, l.name == 'deploy')" },
  { expression: "body.labels.all(l, l.name != 'x') && size(body.labels) == 2" },
  { expression: "body.labels.map(l, l.name) == ['bug', 'deploy']" },
  { expression: "body.sizes.filter(s, s > 1).map(s, s * 10) == [20, 30]" },
  { expression: "body.nested['a'].b.startsWith('de')" },
  { expression: "body == body && body.labels == body.labels" },
  { expression: "'action' in body && !('x' in body)" },
  { expression: "has(body.nothing) && body.nothing == null && 'nothing' in body" },
  { expression: "!has(body.missing) && !has(body.nested.b)" },
  { expression: "body.missing == 1 || body.count == 5" },
  { expression: "body.count == 5 || body.missing == 1" },
  { expression: "!body.draft" },
  { expression: "body.draft ? false : true" },
  { expression: "body.exists(key, key == 'action')" },
  // Whole numbers are ints, and compare with doubles.
  { expression: "body.count + 1 == 6 && body.count == 5.0 && body.count == 5u" },
  { expression: "body.count % 2 == 1 && body.sizes[1] == 2" },
  { expression: "body.ratio * 2.0 == 3.0 && body.ratio > 1" },
  { expression: "type(body.count) == int && type(body.ratio) == double" },
  { expression: "type(body.big) == int" },
  { expression: "body == 7", parts: json(7) },
  { expression: "body == 'x'", parts: json("x") },
  { expression: "body[0] == 1 && body.size() == 2", parts: json([1, 2]) },
  { expression: "body == -0.0 && body == 0", parts: { ...json(0), body: "-0" } },
  // The other variables.
  { expression: "body.a == 'x' && body.b == ['1', '2']", parts: form("a=x&b=1&b=2") },
  { expression: "body == null && raw == ''", parts: {} },
  { expression: "body == null && raw == 'a,b'", parts: { body: "a,b" } },
  { expression: "raw == '' && body == null", parts: { body: new Uint8Array([0xff, 0x61]) } },
  { expression: 'raw.contains(\'"action":"opened"\')' },
  { expression: "raw.size() == 2", parts: { body: "\ufeff😀" } },
  { expression: "headers['x-event'] == 'ping'", parts: { headers: { "X-Event": "ping" } } },
  { expression: "headers.host == 'a'", parts: { headers: { Host: "a" } } },
  { expression: "!('x-event' in headers)" },
  { expression: "content_type == 'application/json'" },
  { expression: "content_type == ''", parts: {} },
  {
    expression: "query.a == '1' && query.b == ['2', '3'] && size(query) == 2",
    parts: { query: "a=1&b=2&b=3" },
  },
  { expression: "remote_ip == '192.0.2.7'" },
  { expression: "now == timestamp('2023-11-14T22:13:20Z') && now.getHours() == 22" },
  { expression: "now - timestamp('2023-11-14T22:13:00Z') < duration('30s')" },
  { expression: "timestamp(1700000000) == now && timestamp(int(now)) == now" },
  { expression: "timestamp(-1) == timestamp('1969-12-31T23:59:59Z')" },
  { expression: "timestamp(253402300799) == timestamp('9999-12-31T23:59:59Z')" },
  { expression: "body.action.matches('^open(ed)?$')" },
];

for (const { expression, parts = issue } of passing) {
  Deno.test(`payload_filter passes: ${expression}`, async () => {
    assertEquals(await checkOnce(payloadFilter, { expression }, parts), undefined);
  });
}

const refused: {
  expression: string;
  parts?: RequestParts;
  reason: string;
  expected: string;
  found?: string;
}[] = [
  {
    expression: "body.count == 5 && body.action == 'closed'",
    reason: "Payload filter is false",
    expected: 'body.action == "closed"',
    found: 'body.action is "opened"',
  },
  {
    expression: "body.count == 5 && (body.ratio > 2.0 && body.draft)",
    reason: "Payload filter is false",
    expected: "body.ratio > 2.0",
    found: "body.ratio is 1.5",
  },
  {
    expression: "body.count in body.sizes",
    reason: "Payload filter is false",
    expected: "body.count in body.sizes",
    found: "body.count is 5; body.sizes is a list of 3",
  },
  {
    expression: "body.action.startsWith('clo') || body.count > body.sizes[2] + 7",
    reason: "Payload filter is false",
    expected: 'body.action.startsWith("clo") || body.count > body.sizes[2] + 7',
    found: 'body.action is "opened"; body.count is 5; body.sizes[2] + 7 is 10',
  },
  {
    expression: "body.action.endsWith(body.nested['a'].b)",
    reason: "Payload filter is false",
    expected: 'body.action.endsWith(body.nested["a"].b)',
    found: 'body.action is "opened"; body.nested["a"].b is "deep"',
  },
  {
    expression: "!(body.action == 'opened')",
    reason: "Payload filter is false",
    expected: '!(body.action == "opened")',
    found: 'body.action is "opened"',
  },
  {
    expression: "body.draft",
    reason: "Payload filter is false",
    expected: "body.draft",
  },
  {
    expression: "body.labels.exists(l, l.name == 'x')",
    reason: "Payload filter is false",
    expected: 'body.labels.exists(l, l.name == "x")',
    found: "body.labels is a list of 2",
  },
  {
    expression: "body.labels.map(l, l.name).all(n, n != 'deploy')",
    reason: "Payload filter is false",
    expected: 'body.labels.map(l, l.name).all(n, n != "deploy")',
    found: "body.labels.map(l, l.name) is a list of 2",
  },
  {
    expression: "body.nothing == 1 || body.nested == {}",
    reason: "Payload filter is false",
    expected: "body.nothing == 1 || body.nested == {}",
    found: "body.nothing is null; body.nested is a map of 1; {} is a map of 0",
  },
  {
    expression: "now < timestamp('2020-01-01T00:00:00Z')",
    reason: "Payload filter is false",
    expected: 'now < timestamp("2020-01-01T00:00:00Z")',
    found: 'now is 2023-11-14T22:13:20Z; timestamp("2020-01-01T00:00:00Z") is 2020-01-01T00:00:00Z',
  },
  {
    expression: "now - timestamp('2023-11-14T22:13:19.5Z') > duration('1h')",
    reason: "Payload filter is false",
    expected: 'now - timestamp("2023-11-14T22:13:19.5Z") > duration("1h")',
    found: 'now - timestamp("2023-11-14T22:13:19.5Z") is 0.500s; duration("1h") is 3600s',
  },
  {
    expression: "timestamp(253402300800) > now",
    reason: "Payload filter failed: timestamp out of range",
    expected: "timestamp(253402300800) > now",
  },
  {
    expression: "body.missing == 'x'",
    reason: "Payload filter failed: field not found: missing",
    expected: 'body.missing == "x"',
  },
  {
    expression: "body.action.missing == 'x'",
    reason: "Payload filter failed: field not found: missing",
    expected: 'body.action.missing == "x"',
  },
  {
    expression: "body.ratio * 2 == 3.0",
    reason:
      "Payload filter failed: found no matching overload for '_*_' applied to '(double, int)': write double(…) around the int",
    expected: "body.ratio * 2 == 3.0",
  },
  {
    expression: "body.labels[2].name == 'x'",
    reason: "Payload filter failed: index 2 out of bounds [0, -1)",
    expected: 'body.labels[2].name == "x"',
  },
  {
    expression: "body.count / 0 == 1",
    reason: "Payload filter failed: int divide by zero",
    expected: "body.count / 0 == 1",
  },
  {
    expression: "body.action",
    reason: "Payload filter is neither true nor false",
    expected: "body.action",
    found: '"opened"',
  },
  {
    expression: "body.labels",
    reason: "Payload filter is neither true nor false",
    expected: "body.labels",
    found: "a list of 2",
  },
  // Names of JavaScript are no names of CEL.
  ...["constructor", "__proto__", "toString", "hasOwnProperty"].map((name) => ({
    expression: `body.${name} == 'x'`,
    reason: `Payload filter failed: field not found: ${name}`,
    expected: `body.${name} == "x"`,
  })),
  ...["headers", "query", "body.sizes"].map((place) => ({
    expression: `${place}.constructor == 'x'`,
    reason: "Payload filter failed: field not found: constructor",
    expected: `${place}.constructor == "x"`,
  })),
  {
    expression: "'constructor' in body || has(body.toString) || 'length' in body.sizes",
    reason: "Payload filter is false",
    expected: '"constructor" in body || has(body.toString) || "length" in body.sizes',
    found: "body is a map of 9; has(body.toString) is false; body.sizes is a list of 3",
  },
];

for (const { expression, parts = issue, reason, expected, found } of refused) {
  Deno.test(`payload_filter refuses: ${expression}`, async () => {
    const refusal = await checkOnce(payloadFilter, { expression }, parts);
    assertEquals(refusal, { reason, expected, ...(found !== undefined && { found }) });
  });
}

Deno.test("payload_filter: a pattern takes a time that grows with the text alone", async () => {
  const text = "a".repeat(100_000) + "!";
  await assertTakesLess(2_000, async () => {
    for (const pattern of ["^(a+)+$", "^(a|aa)+$", "(.*)*x"]) {
      const expression = `body.matches('${pattern}')`;
      const refusal = await checkOnce(payloadFilter, { expression }, json(text));
      assertEquals(refusal?.reason, "Payload filter is false");
    }
  });
});

Deno.test("payload_filter: a pattern of the sender's that is none is an error", async () => {
  const refusal = await checkOnce(
    payloadFilter,
    { expression: "raw.matches(body.p)" },
    json({ p: "(" }),
  );
  assertMatch(refusal?.reason ?? "", /^Payload filter failed: .*missing closing/);
});

Deno.test("payload_filter: lists of macros can be long", async () => {
  const numbers = json(Array.from({ length: 30_000 }, (_, i) => i));
  const expression =
    "body.map(x, x + 1).filter(x, x > 5).exists(x, x == 30000) && (body + body).size() == 60000 " +
    "&& (body + [7])[30000] == 7 && body.map(x, x) == body";
  await assertTakesLess(3_000, async () => {
    assertEquals(await checkOnce(payloadFilter, { expression }, numbers), undefined);
  });
});

Deno.test("payload_filter: lists that are added stay what they are", () => {
  const some = fc.array(fc.integer({ min: -9, max: 9 }), { maxLength: 6 });
  return fc.assert(fc.asyncProperty(some, some, some, async (a, b, c) => {
    const parts = json({
      a,
      b,
      c,
      ab: [...a, ...b],
      abc: [...a, ...b, ...c],
      aba: [...a, ...b, ...a],
    });
    const expression = "body.a + body.b == body.ab && body.a + body.b + body.c == body.abc && " +
      "[body.a + body.b].all(l, l + body.c == body.abc && l + body.a == body.aba && l == body.ab)";
    assertEquals(await checkOnce(payloadFilter, { expression }, parts), undefined);
  }));
});

Deno.test("payload_filter: a body nested deeper than 64 is refused wherever it is read", async () => {
  const nest = (depth: number) => ({
    ...json(null),
    body: `{"ok":true,"deep":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`,
  });
  const expression = "body.ok";
  assertEquals(await checkOnce(payloadFilter, { expression }, nest(64)), undefined);
  for (const depth of [65, 5000]) {
    const refusal = await checkOnce(payloadFilter, { expression }, nest(depth));
    assertEquals(refusal?.reason, "Payload filter cannot read the body: it is nested too deep");
  }
  const other = { expression: "content_type == 'application/json'" };
  assertEquals(await checkOnce(payloadFilter, other, nest(65)), undefined);
});

Deno.test("payload_filter: any JSON equals itself and has no other names than its own", async () => {
  // Numbers that JSON writes as integers beyond 64 bits are errors.
  const values = fc.jsonValue().filter((value) => !/\d{19}/.test(JSON.stringify(value)));
  await fc.assert(fc.asyncProperty(values, fc.string(), async (value, name) => {
    const parts = json({ a: value, b: value, name });
    const expression =
      "body.a == body.b && (body.name in body) == (body.name in ['a', 'b', 'name'])";
    assertEquals(await checkOnce(payloadFilter, { expression }, parts), undefined);
  }));
});

Deno.test("payload_filter: several filters must all hold, and the first that does not is told", async () => {
  const filters = [
    { type: "payload_filter", expression: "body.action == 'opened'" },
    { type: "payload_filter", all: [{ path: "body.count", op: "ge", value: 5 }] },
    { type: "payload_filter", not: { path: "body.draft", op: "eq", value: true } },
  ];
  const prepared = await prepareConditions(z.array(conditionSchema).parse(filters), context(), "t");
  const refusals = async (parts: RequestParts) => {
    const found = await Promise.all(prepared.checks.map(({ check }) => check(request(parts))));
    return found.map((refusal) => refusal?.found);
  };
  assertEquals(prepared.checks.map(({ stage }) => stage), ["filter", "filter", "filter"]);
  assertEquals(await refusals(issue), [undefined, undefined, undefined]);
  assertEquals(await refusals(json({ action: "opened", count: 4, draft: true })), [
    undefined,
    "body.count is 4",
    "body.draft is true",
  ]);
});

Deno.test("payload_filter: long values and clauses are cut off", async () => {
  const long = "x".repeat(1000);
  const refusal = await checkOnce(
    payloadFilter,
    { expression: `body.a == '${long}'` },
    json({ a: "y".repeat(1000) }),
  );
  assertEquals(refusal?.expected, `body.a == "${"x".repeat(189)}…`);
  assertEquals(refusal?.found, `body.a is "${"y".repeat(189)}…`);
});

const credentials: Field[] = [
  { in: "header", name: "X-Token" },
  { in: "query", name: "key" },
  { in: "body", name: "/auth/token" },
];

const hidden: { name: string; expression: string; found: string }[] = [
  {
    name: "in a header",
    expression: "headers['x-token'] == 'x'",
    found: 'headers["x-token"] is not shown',
  },
  { name: "in the query", expression: "query.key == 'x'", found: "query.key is not shown" },
  {
    name: "in the body",
    expression: "body.auth.token == 'x'",
    found: "body.auth.token is not shown",
  },
  { name: "in all of the body", expression: "raw == 'x'", found: "raw is not shown" },
  {
    name: "within a text that is put together",
    expression: "'<' + headers['x-token'] + '>' == 'x'",
    found: '"<" + headers["x-token"] + ">" is not shown',
  },
  { name: "beside others", expression: "body.a == 'x'", found: 'body.a is "b"' },
];

const unshown: { name: string; expression: string; reason: string; found?: string }[] = [
  {
    name: "in the name of a field that is not there",
    expression: "body[headers['x-token']] == 'x'",
    reason: "Payload filter failed: not shown",
  },
  {
    name: "in a key that comes twice",
    expression: "{query.key: 1, query.key: 2} == {}",
    reason: "Payload filter failed: not shown",
  },
  {
    name: "in place of a bool",
    expression: "body.auth.token",
    reason: "Payload filter is neither true nor false",
    found: "not shown",
  },
];

const withCredentials: RequestParts = {
  query: "key=query-s3cret",
  headers: { "x-token": 'header "s3cret"', "content-type": "application/json" },
  body: JSON.stringify({ auth: { token: "body-s3cret" }, a: "b" }),
};

for (const { name, expression, reason, found } of unshown) {
  Deno.test(`payload_filter shows no credential ${name}`, async () => {
    const surroundings = context({ credentials });
    const refusal = await checkOnce(payloadFilter, { expression }, withCredentials, surroundings);
    assertEquals([refusal?.reason, refusal?.found], [reason, found]);
  });
}

for (const { name, expression, found } of hidden) {
  Deno.test(`payload_filter shows no credential ${name}`, async () => {
    const parts = withCredentials;
    const refusal = await checkOnce(payloadFilter, { expression }, parts, context({ credentials }));
    assertEquals(refusal?.found, found);
    assert(!JSON.stringify(refusal).includes("s3cret"), JSON.stringify(refusal));
  });
}

Deno.test("the log says that there was no body to read, and what was sent as one", async () => {
  const settings = { expression: "body.action == 'opened'" };
  const reason = async (body: string | Uint8Array, headers: Record<string, string>) =>
    (await checkOnce(payloadFilter, settings, { body, headers }))?.reason;
  const why = "Payload filter failed: field not found: action; the body is neither JSON nor a form";
  assertEquals(
    await reason(new Uint8Array([0x1f, 0x8b]), {
      "content-type": "application/json",
      "content-encoding": "gzip",
    }),
    `${why}: 2 bytes of type application/json, encoded as gzip`,
  );
  assertEquals(await reason("", {}), `${why}: 0 bytes of no type`);
  assertEquals(await reason("{}", {}), "Payload filter failed: field not found: action");
  assertEquals(
    await reason("payload=%7B%7D", { "content-type": "application/x-www-form-urlencoded" }),
    'Payload filter failed: field not found: action; the body is a form with the fields "payload": ' +
      "choose JSON at the sender if it can send that",
  );
});
