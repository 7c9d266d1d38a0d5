/** A body is read as what it is; none takes long or is nested deeper than what reads it can go. */
import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import fc from "fast-check";
import { sizeOfBody } from "../../src/conditions/body_limits.ts";
import { isFormType, parseBody } from "../../src/conditions/request.ts";
import { mediaType } from "../../src/platform/network/media_type.ts";
import { anyText, mutated, pieces } from "../arbitraries.ts";
import { parseExactJson } from "../../src/platform/text/exact_json.ts";

const DEPTH_MAX = 64;
const FORM = "application/x-www-form-urlencoded";
const encode = (text: string) => new TextEncoder().encode(text);

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function valuesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, inner) => sum + valuesIn(inner), 1);
}

/** JSON whose depth lies around the limit, with signs of JSON in its texts. */
const nested = fc.tuple(
  fc.jsonValue(),
  fc.array(fc.constantFrom("list", "object", "late"), { minLength: 50, maxLength: 70 }),
  fc.constantFrom("", "[[[[", '"', '\\\\"[', "}}}}", "{\\"),
).map(([inner, layers, text]) =>
  layers.reduce<unknown>(
    (value, layer) =>
      layer === "list" ? [value] : layer === "object" ? { [text]: value } : [text, value],
    inner,
  )
);

Deno.test("JSON is read up to its depth of 64, and refused from there on", () => {
  fc.assert(fc.property(nested, fc.constantFrom(undefined, 1), (value, indent) => {
    const text = JSON.stringify(value, null, indent);
    const isDeep = depthOf(value) > DEPTH_MAX;
    const size = sizeOfBody(`\ufeff \n${text}`, false);
    if ("refused" in size) assertEquals([isDeep, size.refused], [true, "it is nested too deep"]);
    else {
      const values = valuesIn(JSON.parse(text));
      assert(!isDeep && size.values >= values && size.values <= 2 * values, text);
    }
    const parsed = parseBody(encode(text), "application/json");
    if (isDeep) assertEquals(parsed, { kind: "other", refused: "it is nested too deep" });
    else assertEquals(parsed, { kind: "json", value: parseExactJson(text) });
  }));
});

const form = (...fields: [string, string[]][]) => ({ kind: "form", fields: new Map(fields) });

const bodiesAndTypes: { name: string; body: string | Uint8Array; type?: string; read: unknown }[] =
  [
    {
      name: "JSON",
      body: '{"a":1}',
      type: "application/json",
      read: { kind: "json", value: { a: 1 } },
    },
    { name: "JSON of no type", body: "7", read: { kind: "json", value: 7 } },
    {
      name: "JSON that is called a form",
      body: ' {"a":1}',
      type: FORM,
      read: { kind: "json", value: { a: 1 } },
    },
    {
      name: "a list that is called a form",
      body: "[1]",
      type: FORM,
      read: { kind: "json", value: [1] },
    },
    {
      name: "a form",
      body: "?a=1&b=2&a=3",
      type: FORM,
      read: form(["?a", ["1"]], ["b", ["2"]], ["a", ["3"]]),
    },
    {
      name: "a form whose name begins like JSON",
      body: "[a=1",
      type: FORM,
      read: form(["[a", ["1"]]),
    },
    { name: "a form that would be JSON", body: "7", type: FORM, read: form(["7", [""]]) },
    { name: "text", body: "a=1", type: "text/plain", read: { kind: "other" } },
    { name: "nothing", body: "", type: FORM, read: { kind: "other" } },
    {
      name: "JSON that is not UTF-8",
      body: new Uint8Array([0x22, 0xff, 0x22]),
      read: { kind: "other" },
    },
  ];

for (const { name, body, type = "", read } of bodiesAndTypes) {
  Deno.test(`a body is read as what it is: ${name}`, () => {
    assertEquals<unknown>(parseBody(typeof body === "string" ? encode(body) : body, type), read);
  });
}

Deno.test("a body of too many values or names is not read", () => {
  const zeros = (count: number) => new Array(count).fill(0).join();
  const names = (count: number) => `{${new Array(count).fill('"":0').join()}}`;
  const fields = (count: number) => new Array(count).fill("a").join("&");
  const values = { refused: "it holds more than 1000000 values" };
  const tooManyNames = { refused: "it holds more than 100000 names" };
  // The list itself is one of its values.
  assertEquals(sizeOfBody(`[${zeros(999_999)}]`, false), {
    values: 1_000_000,
    names: 0,
    text: 0,
  });
  assertEquals(sizeOfBody(`[${zeros(1_000_000)}]`, false), values);
  assertEquals("refused" in sizeOfBody(names(100_000), false), false);
  assertEquals(sizeOfBody(names(100_001), false), tooManyNames);
  assertEquals(sizeOfBody(fields(100_000), true), {
    values: 100_000,
    names: 100_000,
    text: 199_999,
  });
  assertEquals(sizeOfBody('{"a\\"b":["x",{"long text":1}]}', false), {
    values: 5,
    names: 2,
    text: 10,
  });
  assertEquals(sizeOfBody(fields(100_001), true), tooManyNames);
});

const types = fc.oneof(fc.constantFrom("", FORM, "application/json", "text/plain"), anyText);
const bodies = fc.oneof(
  fc.uint8Array(),
  anyText.map(encode),
  nested.chain((value) => mutated(JSON.stringify(value), "[", '"', "\\", "\u00a0", "\ufeff"))
    .map(encode),
  pieces("[", "{", '"', "]", "}", "\\", ":", ",", "1", " ", "\u00a0", "&a=").map(encode),
);

Deno.test("whatever a body and its type are, no value comes out that is nested too deep", () => {
  fc.assert(
    fc.property(bodies, types, (body, type) => {
      const parsed = parseBody(body, type);
      if (parsed.kind === "json") assertLessOrEqual(depthOf(parsed.value), DEPTH_MAX);
      if (parsed.kind === "form") assert(isFormType(type));
    }),
    { numRuns: 500 },
  );
});

Deno.test("a form is its fields, each with its values in their order", () => {
  const fields = fc.array(fc.tuple(fc.string({ unit: "grapheme" }), fc.string()), { maxLength: 6 });
  fc.assert(fc.property(fields, (fields) => {
    const body = encode(`first=&${new URLSearchParams(fields)}`);
    const parsed = parseBody(body, `${FORM}; charset=utf-8`);
    assert(parsed.kind === "form");
    const expected = Map.groupBy([["first", ""], ...fields], ([name = ""]) => name);
    // URLSearchParams leaves out a field without a name and a value, as nobody sends one.
    for (const [name, values] of expected) {
      assertEquals(parsed.fields.get(name), values.map(([, value = ""]) => value));
    }
  }));
});

Deno.test("any Content-Type has a media type or none", () => {
  fc.assert(fc.property(fc.oneof(anyText, mutated(`${FORM}; charset="utf-8"`)), (type) => {
    assertEquals(typeof mediaType(type), "string");
  }));
});

Deno.test("a Content-Type is the type that it begins with, whatever its parameters are", () => {
  const spellings = [
    ...["", ";", "; charset", ";charset=", ";;charset=utf-8", " ; charset=utf-8;charset=utf-8"],
    ...['; charset="utf-8', "; a=b c", "; =x", "\t;boundary=é"],
  ];
  for (const parameters of spellings) {
    assertEquals(mediaType(`${FORM}${parameters}`), FORM, parameters);
    assertEquals(mediaType(` ${FORM.toUpperCase()}${parameters}`), FORM, parameters);
    assertEquals(parseBody(encode("a=1"), `${FORM}${parameters}`).kind, "form", parameters);
  }
  for (const none of ["", ";", "json", "a/", "/b", "a/b/c", "a b/c", `${FORM}, text/plain`]) {
    assertEquals(mediaType(none), "", none);
  }
});

Deno.test("a form that begins with a question mark has it in its first name", () => {
  const parsed = parseBody(encode("?a=1&b=2"), FORM);
  assertEquals(parsed, { kind: "form", fields: new Map([["?a", ["1"]], ["b", ["2"]]]) });
});
