/**
 * A filter list that cannot be used is refused when it is saved, with the place of what is wrong, what
 * was found there, and what was expected.
 */
import { assertEquals } from "@std/assert";
import { payloadFilter } from "../../../src/conditions/payload_filter.ts";
import { context, problemsOf, request } from "../fixture.ts";

type List = Record<string, unknown>;

const clause = (path: string, op: string, ...value: unknown[]): List => ({
  path,
  op,
  ...(value.length > 0 && { value: value[0] }),
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
    problems: ["/not/all/0/value: Invalid pattern: missing closing ): `(`"],
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
      "/all/0/path: Must begin with one of body, raw, headers, query, content_type, remote_ip, jwt: " +
      'found "bdoy"',
    ],
  },
  {
    name: "an empty path",
    settings: { all: [clause("", "exists")] },
    problems: [
      "/all/0/path: Must begin with one of body, raw, headers, query, content_type, remote_ip, jwt: " +
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
  assertEquals(await payloadFilter.prepare(stored, context())(request()), {
    reason: "Payload filter cannot be used: Must have at most 4096 bytes",
  });
});
