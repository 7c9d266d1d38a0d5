/** Durations are read as what they say, and whatever is none is refused. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { durationSchema } from "../../../src/projects/format/fields.ts";
import { anyText, pieces } from "../../arbitraries.ts";

const seconds: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const units = fc.constantFrom(
  ..."s S sec seconds m min minutes h H hr hours d days w weeks".split(" "),
);
const spaces = fc.constantFrom("", " ", "\t ", "\n");
const part = fc.record({
  amount: fc.oneof(fc.nat(10_000), fc.nat(999).map((amount) => amount / 8)),
  unit: units,
  before: spaces,
  between: spaces,
});

Deno.test("a duration is the sum of its parts, however they are spaced and spelled", () => {
  fc.assert(fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (parts) => {
    const text = parts.map(({ amount, unit, before, between }) => before + amount + between + unit)
      .join("");
    const expected = parts.reduce(
      (sum, { amount, unit }) => sum + amount * (seconds[unit.charAt(0).toLowerCase()] ?? NaN),
      0,
    );
    // Eighths and their sums are exact; no time means no limit.
    assertEquals(durationSchema.parse(text), expected || undefined);
  }));
});

Deno.test("a whole number is as many seconds, written as a number or as a text", () => {
  fc.assert(fc.property(fc.integer({ min: 1 }), spaces, (amount, space) => {
    assertEquals(durationSchema.parse(amount), amount);
    assertEquals(durationSchema.parse(space + amount + space), amount);
    assertEquals(durationSchema.safeParse(-amount).success, false);
    assertEquals(durationSchema.safeParse(`-${amount}`).success, false);
  }));
});

Deno.test("any text is a duration of a time that there is, or refused", () => {
  const text = fc.oneof(
    anyText,
    pieces(..."0 1 99 . 1.5 s m mo h d w e - + ٣ ſ ".split(" "), " "),
    fc.tuple(
      fc.constantFrom("9", "1s ", " ", "1.", "s"),
      fc.nat(20_000),
      fc.constantFrom("x", "", "s"),
    )
      .map(([piece, count, end]) => piece.repeat(count) + end),
  );
  fc.assert(
    fc.property(fc.oneof(text, fc.anything()), (value) => {
      const { success, data } = durationSchema.safeParse(value);
      if (success && data !== undefined) assertEquals(data > 0 && Number.isFinite(data), true);
    }),
    { numRuns: 500 },
  );
});
