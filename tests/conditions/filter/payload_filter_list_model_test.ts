/**
 * A filter list means what a few lines of JavaScript mean, for any list and any body; and nothing that
 * a list holds can become a part of the expression but as a value.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { payloadFilter } from "../../../src/conditions/payload_filter.ts";
import { unicode } from "../../arbitraries.ts";
import { checkOnce, json, prepareOnce, request } from "../fixture.ts";

type List = Record<string, unknown>;

const clause = (path: string, op: string, ...value: unknown[]): List => ({
  path,
  op,
  ...(value.length > 0 && { value: value[0] }),
});

const anyText = unicode({ maxLength: 30 });

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
      numRuns: 60,
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
    {
      numRuns: 60,
      examples: [["__proto__", "constructor"], ["toString", "a"], ['"]', "a"], ["0", "00"]],
    },
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

const ORDERED: Json[] = ["", "a", "ab", "b", -1, 0, 0.5, 2];
const SCALARS: Json[] = [...ORDERED, true, false, null];
const scalar = fc.constantFrom(...SCALARS);
const order = fc.constantFrom(...ORDERED);
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

/** The values that an operator takes, in a clause of its own. */
function valuesOf(op: string): Json[] {
  if (op === "in" || op === "not_in") return SCALARS.map((value) => [value]);
  if (op === "lt" || op === "ge") return ORDERED;
  return op === "starts_with" ? ["", "a", "ab", "b"] : SCALARS;
}

Deno.test("payload_filter: each operator means what it says, of each value", async () => {
  const found: Json[] = [...SCALARS, ["a", 2], [null], {}];
  for (const op of Object.keys(meanings)) {
    for (const value of valuesOf(op)) {
      const model = { path: "a", op, value };
      const check = await prepareOnce(payloadFilter, { all: [clause("body.a", op, value)] });
      for (const a of found) {
        const isPassed = await check(request(json({ a }))) === undefined;
        const say = `${JSON.stringify(a)} ${op} ${JSON.stringify(value)}`;
        assertEquals(isPassed, holds(model, { a }), say);
      }
    }
  }
});

/** Compiling a list takes ten times as long as checking a body, so each one is asked about several. */
const bodies = fc.array(body, { minLength: 5, maxLength: 5 });

Deno.test("payload_filter: a list means what its operators say, of any body", async () => {
  await fc.assert(
    fc.asyncProperty(list, bodies, async (model, values) => {
      const written = JSON.parse(
        JSON.stringify(model),
        (key, text) => key === "path" ? `body.${text}` : text,
      );
      const check = await prepareOnce(payloadFilter, written);
      for (const value of values) {
        const refusal = await check(request(json(value)));
        assertEquals(refusal === undefined, holds(model, value), JSON.stringify(value));
        if (refusal) assertMatch(refusal.reason, /^Payload filter is false/);
      }
    }),
    { numRuns: 120 },
  );
});
