/** A body is read as what it is; none takes long or is nested deeper than what reads it can go. */
import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import fc from "fast-check";
import { sizeOfBody } from "../../src/conditions/body_limits.ts";
import { isFormType, parseBody } from "../../src/conditions/request.ts";
import { mediaType } from "../../src/media_type.ts";
import { anyText, mutated, pieces } from "../arbitraries.ts";

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
    else assertEquals(parsed, { kind: "json", value: JSON.parse(text) });
  }));
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
