/**
 * Which filters are evaluated at once: those of the usual webhooks, and none that a sender can make slow.
 */
import { assert, assertEquals } from "@std/assert";
import { compileFilter, isShort, judgeRequest } from "../../../src/conditions/filter/filter.ts";
import { payloadFilter } from "../../../src/conditions/payload_filter.ts";
import { assertTakesLess } from "../../surroundings.ts";
import { checkOnce, context, json, request, type RequestParts } from "../fixture.ts";

/** The body of a push to GitHub with this many commits: 200 bytes each. */
function push(commits: number): RequestParts {
  const commit = {
    id: "d6fde92930d4715a2b49857d24b940956b26d2d3",
    message: "Update the readme, as the images were moved to another folder last week",
    author: { name: "A", email: "a@example.com" },
    added: ["docs/a.md"],
    modified: ["README.md", "docs/b.md"],
  };
  return json({
    ref: "refs/heads/main",
    commits: Array(commits).fill(commit),
    repository: { full_name: "owner/name" },
    labels: [{ name: "bug" }],
  });
}

const expressions = [
  "body.ref == 'refs/heads/main'",
  "headers['x-github-event'] in ['push', 'ping'] && body.repository.full_name == 'owner/name'",
  "body.ref.matches('^refs/heads/(main|release-.*)$')",
  "body.commits.exists(c, c.message.contains('[train]'))",
  "body.commits.exists(c, c.added.exists(f, f.startsWith('data/')))",
  "body.ref.contains(body.repository.full_name)",
  "body.labels.map(l, l.name).exists(n, n == 'bug')",
  "'bug' in body.labels.map(l, l.name)",
  "size(body.commits) > 1 && has(body.ref)",
  "timestamp('2024-01-01T00:00:00Z') < now",
];

for (const expression of expressions) {
  Deno.test(`an evaluation over a body of some KiB does not wait for a Worker: ${expression}`, () => {
    const filter = compileFilter({ expression });
    assert(isShort(filter, request(push(15))));
  });
}

Deno.test("a list of clauses over a body of some KiB does not wait for a Worker", () => {
  const filter = compileFilter({
    all: [
      { path: "headers.x-github-event", op: "eq", value: "push" },
      { path: "body.repository.full_name", op: "in", value: ["owner/name", "owner/other"] },
      { path: "body.commits.0.id", op: "exists" },
      { not: { path: "body.ref", op: "matches", value: "^refs/tags/" } },
      { any: [{ path: "body.labels.0.name", op: "contains", value: "b" }] },
    ],
  });
  assert(isShort(filter, request(push(15))));
});

const toTheWorker: [expression: string, parts: RequestParts][] = [
  ["body.commits.exists(c, c.id == 'x')", push(400)],
  ["body.ref == 'x'", { body: JSON.stringify("x".repeat(70_000)) }],
  ["raw.contains('x')", { body: "x".repeat(70_000) }],
  [
    "body.text.contains(body.sought)",
    json({ text: "a".repeat(60_000), sought: `${"a".repeat(375)}b${"a".repeat(1_125)}` }),
  ],
  ["raw.matches('(a|b)*a(a|b){14}c')", { body: "ab".repeat(8_000) }],
  ["raw.matches(body.pattern)", json({ pattern: "a" })],
  ["body.all(x, body.all(y, x == y))", json(Array(200).fill(1))],
  ["[body].map(l, l + l).map(l, l + l).exists(l, size(l) > 9)", json([1])],
  ["[body].map(l, [l, l]).map(l, [l, l]) == body", json([1])],
  ["body.a == 1", { body: `{${Array.from({ length: 2_000 }, (_, i) => `"a${i}":1`)}}` }],
];

for (const [expression, parts] of toTheWorker) {
  Deno.test(`an evaluation that may take long is left to the Worker: ${expression}`, () => {
    assertEquals(isShort(compileFilter({ expression }), request(parts)), false);
  });
}

/** Each takes its longest when the body is the largest with which it is still evaluated at once. */
const slowest: [expression: string, body: (size: number) => unknown][] = [
  ["body.exists(x, x / 0 == 1)", (size) => Array(size).fill(1)],
  ["body.exists(x, x.a.b == 1)", (size) => Array(size).fill({})],
  ["body.map(x, x).map(x, x).exists(x, x > 1)", (size) => Array(size).fill(1)],
  ["body.all(x, body.all(y, x / y == 1))", (size) => Array(size).fill(0)],
  ["body.all(x, x.all(y, y.z.z == 1))", (size) => Array(size).fill([{}, {}, {}, {}])],
  ["body == body", (size) => Array(size).fill({ a: 1 })],
  ["body[0].contains('aaaaaaaaaaaaaaab') || size(body[0]) == 1", (size) => ["a".repeat(size)]],
  ["body[0].matches('(a|b)*a(a|b){14}c')", (size) => ["ab".repeat(size / 2)]],
  ["has(body.x)", (size) => Object.fromEntries(Array.from({ length: size }, (_, i) => [i, 0]))],
];

for (const [expression, body] of slowest) {
  Deno.test(`whatever is evaluated at once is short: ${expression}`, async () => {
    const filter = compileFilter({ expression });
    let size = 1;
    while (size < 65_536 && isShort(filter, request(json(body(size * 2))))) size *= 2;
    while (isShort(filter, request(json(body(Math.ceil(size * 1.1)))))) {
      size = Math.ceil(size * 1.1);
    }
    assert(size > 4, "some are evaluated at once");
    await assertTakesLess(50, () => {
      judgeRequest(filter, request(json(body(size))), []);
    });
  });
}

Deno.test("the Worker says the same of a request as this thread does", async () => {
  const parts = {
    ...push(400),
    query: "a=1&a=2&b=%20x",
    headers: { "x-event": "push", "content-type": "application/json" },
  };
  const filters = [
    "query.a == ['1', '2'] && query.b == ' x' && body.commits.all(c, size(c.id) == 40)",
    "headers['x-event'] == 'pull' || body.commits.exists(c, c.id == 'x')",
    "content_type == 'text/plain' && body.commits.exists(c, c.id == 'x')",
    "remote_ip == '192.0.2.8' && body.commits.exists(c, c.id == 'x')",
    "now < timestamp('2000-01-01T00:00:00Z') && body.commits.exists(c, c.id == 'x')",
    "body.commits.exists(c, c.id.startsWith(body.ref))",
  ];
  for (const expression of filters) {
    const here = judgeRequest(compileFilter({ expression }), request(parts), []);
    assertEquals(await checkOnce(payloadFilter, { expression }, parts, context()), here?.refusal);
  }
});
