/** Null for an optional field means that the field is absent, at every depth; it stays where it is a value. */
import { assertEquals, assertThrows } from "@std/assert";
import { z } from "zod";
import { InvalidInputError } from "../../../src/platform/errors.ts";
import { parseInput } from "../../../src/platform/schema/nulls.ts";

const inner = z.strictObject({ text: z.string(), until: z.string().optional() });
const schema = z.strictObject({
  name: z.string(),
  note: z.string().exactOptional(),
  count: z.int().default(3),
  secrets: z.array(z.union([z.string(), inner])).default([]),
  kind: z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("a"), size: z.int().optional() }),
    z.strictObject({ type: z.literal("b") }),
  ]).optional(),
  values: z.record(z.string(), z.json()).default({}),
});
const none = { name: "n", count: 3, secrets: [], values: {} };

const cases: [what: string, value: unknown, expected: unknown][] = [
  ["no null", { name: "n" }, none],
  ["an optional field", { name: "n", note: null }, none],
  ["a field with a default", { name: "n", count: null, secrets: null, values: null }, none],
  ["a field of an alternative", { name: "n", secrets: ["a", { text: "b", until: null }] }, {
    ...none,
    secrets: ["a", { text: "b" }],
  }],
  ["a field of a kind", { name: "n", kind: { type: "a", size: null } }, {
    ...none,
    kind: { type: "a" },
  }],
  ["values that may be null", { name: "n", values: { a: null, b: [null] } }, {
    ...none,
    values: { a: null, b: [null] },
  }],
];
for (const [what, value, expected] of cases) {
  Deno.test(`null means absent: ${what}`, () => {
    const before = structuredClone(value);
    assertEquals<unknown>(parseInput(schema, value, "it"), expected);
    assertEquals(value, before);
  });
}

const refused: [what: string, value: unknown, message: string][] = [
  ["a required field", { name: null }, "/name: Expected a string, found nothing"],
  ["an element of a list", { name: "n", secrets: [null] }, "/secrets/0: "],
  ["the value itself", null, "found null"],
  ["an unknown field", { name: "n", x: null }, 'Unknown field "x"'],
];
for (const [what, value, message] of refused) {
  Deno.test(`null is refused: ${what}`, () => {
    assertThrows(() => parseInput(schema, value, "it"), InvalidInputError, message);
  });
}
