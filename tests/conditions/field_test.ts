/** A value is found where the settings say, and nowhere else; what is ambiguous is refused. */
import { assertEquals } from "@std/assert";
import {
  bytesOf,
  describeField,
  type Field,
  isSameField,
  readField,
  readText,
} from "../../src/conditions/field.ts";
import { staticToken } from "../../src/conditions/static_token.ts";
import fc from "fast-check";
import { pointer } from "../../src/platform/schema/pointer.ts";
import { isInt64, parseExactJson } from "../../src/platform/text/exact_json.ts";
import { anyText, mutated, pieces } from "../arbitraries.ts";
import { form, json, problemsOf, request, type RequestParts } from "./fixture.ts";

const nested = json({ a: { "b/c": ["x", { "m~n": "deep" }] }, "": "empty", "/": "slash", n: 7 });

const cases: { name: string; field: Field; parts: RequestParts; expected: string | number }[] = [
  {
    name: "a header in another case",
    field: { in: "header", name: "x-ToKen" },
    parts: { headers: { "X-Token": "abc" } },
    expected: "abc",
  },
  {
    name: "a header that comes twice is joined",
    field: { in: "header", name: "X-Token" },
    parts: { headers: [["X-Token", "a"], ["x-token", "b"]] },
    expected: "a, b",
  },
  {
    name: "a header by its other name",
    field: { in: "header", name: "svix-id", other_name: "webhook-id" },
    parts: { headers: { "webhook-id": "msg_1" } },
    expected: "msg_1",
  },
  {
    name: "a header that comes by both names is the first",
    field: { in: "header", name: "svix-id", other_name: "webhook-id" },
    parts: { headers: { "webhook-id": "msg_1", "svix-id": "msg_2" } },
    expected: "msg_2",
  },
  {
    name: "a missing header",
    field: { in: "header", name: "X-Token" },
    parts: {},
    expected: "Header X-Token is missing",
  },
  {
    name: "a query parameter, decoded",
    field: { in: "query", name: "to ken" },
    parts: { query: "to%20ken=a%2Bb" },
    expected: "a+b",
  },
  {
    name: "a query parameter in another case is another",
    field: { in: "query", name: "token" },
    parts: { query: "Token=a" },
    expected: "Query parameter token is missing",
  },
  {
    name: "a query parameter that comes twice",
    field: { in: "query", name: "token" },
    parts: { query: "token=a&token=a" },
    expected: "Query parameter token is ambiguous: it comes more than once",
  },
  {
    name: "an empty query parameter",
    field: { in: "query", name: "token" },
    parts: { query: "token=" },
    expected: "",
  },
  {
    name: "a form field",
    field: { in: "body", name: "token" },
    parts: form("token=a+b&x=1"),
    expected: "a b",
  },
  {
    name: "a form field by pointer",
    field: { in: "body", name: "/to~1ken" },
    parts: form("to%2Fken=a"),
    expected: "a",
  },
  {
    name: "a form has one level",
    field: { in: "body", name: "/token/a" },
    parts: form("token=a"),
    expected: "Body field /token/a is missing",
  },
  {
    name: "a form field that comes twice",
    field: { in: "body", name: "token" },
    parts: form("token=a&token=b"),
    expected: "Body field token is ambiguous: it comes more than once",
  },
  {
    name: "a form has no prototype",
    field: { in: "body", name: "constructor" },
    parts: form("token=a"),
    expected: "Body field constructor is missing",
  },
  {
    name: "a top-level key of JSON",
    field: { in: "body", name: "token" },
    parts: json({ token: "abc" }),
    expected: "abc",
  },
  { name: "a number", field: { in: "body", name: "n" }, parts: nested, expected: 7 },
  {
    name: "a top-level key that is empty, by pointer",
    field: { in: "body", name: "/" },
    parts: nested,
    expected: "empty",
  },
  {
    name: "a pointer with escapes and an index",
    field: { in: "body", name: "/a/b~1c/1/m~0n" },
    parts: nested,
    expected: "deep",
  },
  {
    name: "~01 is ~1, not a slash",
    field: { in: "body", name: "/~01" },
    parts: json({ "~1": "tilde", "/": "slash" }),
    expected: "tilde",
  },
  {
    name: "an index with a leading zero",
    field: { in: "body", name: "/a/b~1c/00" },
    parts: nested,
    expected: "Body field /a/b~1c/00 is missing",
  },
  {
    name: "the length of an array is no field",
    field: { in: "body", name: "/a/b~1c/length" },
    parts: nested,
    expected: "Body field /a/b~1c/length is missing",
  },
  {
    name: "an index behind the end",
    field: { in: "body", name: "/a/b~1c/2" },
    parts: nested,
    expected: "Body field /a/b~1c/2 is missing",
  },
  {
    name: "the constructor of an object is no field",
    field: { in: "body", name: "/constructor/name" },
    parts: json({}),
    expected: "Body field /constructor/name is missing",
  },
  {
    name: "the prototype of an object is no field",
    field: { in: "body", name: "__proto__" },
    parts: json({ a: 1 }),
    expected: "Body field __proto__ is missing",
  },
  {
    name: "__proto__ as a key of its own is one",
    field: { in: "body", name: "__proto__" },
    parts: { ...json(null), body: '{"__proto__":"own"}' },
    expected: "own",
  },
  {
    name: "an object where a string should be",
    field: { in: "body", name: "a" },
    parts: nested,
    expected: "Body field a is not a string",
  },
  {
    name: "null where a string should be",
    field: { in: "body", name: "a" },
    parts: json({ a: null }),
    expected: "Body field a is not a string",
  },
  {
    name: "a step into a string",
    field: { in: "body", name: "/token/0" },
    parts: json({ token: "abc" }),
    expected: "Body field /token/0 is missing",
  },
  {
    name: "a body that is neither",
    field: { in: "body", name: "token" },
    parts: { headers: { "content-type": "text/csv" }, body: "token,abc" },
    expected: "Body field token is missing: the body is neither JSON nor a form",
  },
  {
    name: "an empty body",
    field: { in: "body", name: "token" },
    parts: {},
    expected: "Body field token is missing: the body is neither JSON nor a form",
  },
  {
    name: "a body that is nested too deep",
    field: { in: "body", name: "token" },
    parts: { body: `{"token":"abc","x":${"[".repeat(100)}${"]".repeat(100)}}` },
    expected: "Body field token is missing: the body cannot be read: it is nested too deep",
  },
];

for (const { name, field, parts, expected } of cases) {
  Deno.test(`readField: ${name}`, () => {
    const value = readField(request(parts), field);
    assertEquals(typeof value === "object" ? value.reason : value, expected);
  });
}

Deno.test("of a body that is neither, a refusal tells the size and the beginning of its type", () => {
  const found = (headers: Record<string, string>) => {
    const value = readText(request({ headers, body: "x" }), { in: "body", name: "token" });
    return typeof value === "object" && value.found;
  };
  assertEquals(found({ "content-type": "text/csv" }), "1 bytes of type text/csv");
  assertEquals(found({ "content-type": "x".repeat(60_000) }), `1 bytes of type ${"x".repeat(100)}`);
  assertEquals(found({}), "1 bytes of no type");
});

Deno.test("readText refuses a number", () => {
  const value = readText(request(json({ n: 7 })), { in: "body", name: "n" });
  assertEquals(value, {
    reason: "Body field n is not a string",
    expected: "string",
    found: "number",
  });
});

Deno.test("bytesOf gives a header's bytes as they came", () => {
  const bytes = new TextEncoder().encode("é");
  const asServerReadsIt = String.fromCharCode(...bytes);
  assertEquals(Array.from(bytesOf({ in: "header", name: "x" }, asServerReadsIt)), [0xc3, 0xa9]);
  assertEquals(Array.from(bytesOf({ in: "query", name: "x" }, "é")), [0xc3, 0xa9]);
});

Deno.test("describeField names the place as people do", () => {
  assertEquals(describeField({ in: "query", name: "ts" }), "Query parameter ts");
});

const names: { name: string; field: Field; problems: string[] }[] = [
  { name: "a header", field: { in: "header", name: "X-Token_1.2" }, problems: [] },
  {
    name: "a header with a space",
    field: { in: "header", name: "X Token" },
    problems: ["/name: Must be the name of a header: letters, digits and !#$%&'*+-.^_`|~"],
  },
  {
    name: "a header with a colon",
    field: { in: "header", name: "X-Token:" },
    problems: ["/name: Must be the name of a header: letters, digits and !#$%&'*+-.^_`|~"],
  },
  { name: "a query parameter with a space", field: { in: "query", name: "a b" }, problems: [] },
  { name: "a pointer", field: { in: "body", name: "/a/~0~1/0" }, problems: [] },
  {
    name: "a pointer with a bare tilde",
    field: { in: "body", name: "/a~b" },
    problems: ["/name: Must be a JSON Pointer (RFC 6901): write ~ as ~0 and / as ~1"],
  },
  { name: "a key with a tilde", field: { in: "body", name: "a~b" }, problems: [] },
  {
    name: "no name",
    field: { in: "query", name: "" },
    problems: ["/name: Too small: expected string to have >=1 characters"],
  },
];

for (const { name, field, problems } of names) {
  Deno.test(`a field's name is checked when it is saved: ${name}`, () => {
    assertEquals(problemsOf(staticToken, { ...field, secrets: ["s"] }), problems);
  });
}

/** Every value inside a JSON value, with its path. */
function* within(value: unknown, path: string[] = []): Generator<[path: string[], value: unknown]> {
  yield [path, value];
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) yield* within(inner, [...path, name]);
}

Deno.test("any value of a JSON body is found by the pointer to it, if it is a text or a number", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    const parts = json(value);
    for (const [path, inner] of within(parseExactJson(String(parts.body)))) {
      if (path.length === 0) continue;
      const found = readField(request(parts), { in: "body", name: pointer(...path) });
      const isExact = typeof inner !== "bigint" || isInt64(inner);
      const isFound = ["string", "number", "bigint"].includes(typeof inner) && isExact;
      if (isFound) assertEquals(found, inner);
      else assertEquals(typeof found, "object");
    }
  }));
});

Deno.test("any form's field that comes once is found by its name, and one that comes twice is not", () => {
  const name = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) =>
    !text.startsWith("/")
  );
  const fields = fc.array(fc.tuple(fc.oneof(fc.constantFrom("a", "b"), name), fc.string()), {
    minLength: 1,
    maxLength: 5,
  });
  fc.assert(fc.property(fields, (fields) => {
    const text = new URLSearchParams(fields).toString();
    for (const parts of [form(`x=&${text}`), { query: text }]) {
      for (const [name] of fields) {
        const values = fields.filter(([other]) => other === name).map(([, value]) => value);
        const field = { in: parts.query === undefined ? "body" : "query", name } as const;
        const found = readField(request(parts), field);
        if (values.length === 1) assertEquals(found, values[0]);
        else assertEquals(typeof found === "object" && found.reason.includes("ambiguous"), true);
      }
    }
  }));
});

Deno.test("any name that is taken when it is saved is looked for in any request", () => {
  const name = fc.oneof(anyText, pieces("/", "~", "~0", "~1", "~2", "a", "0", "-1", "constructor"));
  const body = fc.oneof(mutated('{"a":[{"b":"c"}],"constructor":1}'), mutated("a=1&%41=2&/=3"));
  const place = fc.constantFrom("header" as const, "query" as const, "body" as const);
  fc.assert(
    fc.property(name, place, body, fc.boolean(), (name, place, body, isForm) => {
      const settings = { in: place, name, secrets: ["s"] };
      if (problemsOf(staticToken, settings).length > 0) return;
      const found = readField(request(isForm ? form(body) : { body }), { in: place, name });
      if (typeof found === "object") assertEquals(typeof found.reason, "string");
    }),
    { numRuns: 500 },
  );
});

Deno.test("two places are one where their names say the same", () => {
  const cases: [Field, Field, boolean][] = [
    [{ in: "header", name: "X-Id" }, { in: "header", name: "x-id" }, true],
    [{ in: "header", name: "id" }, { in: "query", name: "id" }, false],
    [{ in: "query", name: "id" }, { in: "query", name: "ID" }, false],
    [{ in: "body", name: "id" }, { in: "body", name: "/id" }, true],
    [{ in: "body", name: "/a/id" }, { in: "body", name: "a/id" }, false],
  ];
  for (const [one, other, isSame] of cases) assertEquals(isSameField(one, other), isSame);
});
