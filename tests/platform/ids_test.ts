/**
 * Ids against RFC 9562: their layout by the RFC's own example, and that they sort by the time they
 * were made, within one millisecond too.
 */
import { assert, assertEquals, assertGreater, assertMatch, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import { derivedId, idTime, isId, lowestId, newId } from "../../src/platform/ids.ts";

/** RFC 9562 appendix A.6: 22 February 2022 14:22:22.00 in the zone UTC-5. */
const VECTOR = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
const VECTOR_MS = 1_645_557_742_000;

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** The largest time that the 48 bits hold. */
const TIME_MAX_MS = 2 ** 48 - 1;

const times_ms = fc.oneof(
  fc.integer({ min: 0, max: TIME_MAX_MS }),
  fc.constantFrom(0, 2 ** 31, 2 ** 32 - 1, 2 ** 32, VECTOR_MS, TIME_MAX_MS),
);

Deno.test("the time lies where the RFC's example has it", () => {
  assertEquals(idTime(VECTOR), VECTOR_MS);
  assertMatch(newId(VECTOR_MS), /^017f22e2-79b0-7/);
  assertEquals(lowestId(VECTOR_MS), "017f22e2-79b0-7000-8000-000000000000");
  assertMatch(derivedId(VECTOR, 0, "execution"), /^017f22e2-79b0-7/);
});

Deno.test("every id is a UUID of version 7 that carries its time", () => {
  fc.assert(fc.property(times_ms, (time_ms) => {
    const id = newId(time_ms);
    for (const made of [id, lowestId(time_ms), derivedId(id, "part")]) {
      assertMatch(made, UUID_V7);
      assert(isId(made), made);
      assertEquals(idTime(made), time_ms);
    }
  }));
});

Deno.test("a time between two milliseconds counts as the earlier one", () => {
  for (const between_ms of [0.5, VECTOR_MS + 0.25, VECTOR_MS + 0.999, 2 ** 32 - 0.5]) {
    assertEquals(idTime(newId(between_ms)), Math.floor(between_ms));
    assertEquals(lowestId(between_ms), lowestId(Math.floor(between_ms)));
  }
});

Deno.test("ids of one millisecond sort in the order in which they were made", () => {
  for (let round = 0; round < 20; round++) {
    const ids = Array.from({ length: 2_000 }, () => newId(VECTOR_MS + round));
    assertEquals(ids.toSorted(), ids);
    assertEquals(new Set(ids).size, ids.length);
  }
});

Deno.test("ids sort by their time", () => {
  fc.assert(fc.property(fc.uniqueArray(times_ms, { minLength: 2, maxLength: 20 }), (unordered) => {
    const ascending = unordered.toSorted((a, b) => a - b);
    const ids = ascending.map((time_ms) => newId(time_ms));
    assertEquals(ids.toSorted(), ids);
  }));
});

Deno.test("ids of one time differ in bits that nobody can guess", () => {
  const counted = "017f22e2-79b0-7xxx-".length;
  const tails = Array.from({ length: 1_000 }, (_, index) => newId(index % 2).slice(counted));
  assertEquals(new Set(tails).size, tails.length);
  // Each of the 62 random bits is 1 in some ids and 0 in others.
  const bits = tails.map((tail) => BigInt(`0x${tail.replace("-", "")}`));
  for (let bit = 0n; bit < 62n; bit++) {
    const ones = bits.filter((value) => (value >> bit & 1n) === 1n).length;
    assertGreater(ones, 300, `bit ${bit}`);
    assertGreater(bits.length - ones, 300, `bit ${bit}`);
  }
});

Deno.test("lowestId sorts before every id of its time and behind every earlier one", () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: TIME_MAX_MS }), (time_ms) => {
    const lowest = lowestId(time_ms);
    assert(lowest <= newId(time_ms), "an id of the same time");
    assert(lowest <= derivedId(newId(time_ms), 1), "a derived id of the same time");
    assert(newId(time_ms - 1) < lowest, "an id of the millisecond before");
  }));
});

Deno.test("derivedId gives the same id for the same arguments, for ever", () => {
  assertEquals(derivedId(VECTOR, 0, "execution"), derivedId(VECTOR, 0, "execution"));
  // What is stored was made by these: a change of them would do finished work again.
  assertEquals(derivedId(VECTOR, 0, "execution"), "017f22e2-79b0-72a7-97eb-718102b4b791");
  assertEquals(derivedId(VECTOR, 1, "execution"), "017f22e2-79b0-7d69-aa98-09019fb5f880");
});

Deno.test("derivedId gives another id for any other arguments", () => {
  const parts = fc.array(fc.oneof(fc.string(), fc.nat()), { maxLength: 4 });
  const parents = fc.constantFrom(VECTOR, newId(VECTOR_MS), newId(VECTOR_MS + 1));
  fc.assert(fc.property(parents, parts, parents, parts, (parent, some, other, others) => {
    const isSame = parent === other && JSON.stringify(some) === JSON.stringify(others);
    assertEquals(derivedId(parent, ...some) === derivedId(other, ...others), isSame);
  }));
  assertNotEquals(derivedId(VECTOR, 1), derivedId(VECTOR, "1"));
  assertNotEquals(derivedId(VECTOR, "a", "b"), derivedId(VECTOR, "ab"));
  assertNotEquals(derivedId(VECTOR, "a,b"), derivedId(VECTOR, "a", "b"));
  assertNotEquals(derivedId(VECTOR), VECTOR);
});

const texts: { text: string; isId: boolean }[] = [
  { text: VECTOR, isId: true },
  { text: "9b2d6f0c-4a5e-4c5b-8f1e-3d2a1b0c9d8e", isId: true },
  { text: VECTOR.toUpperCase(), isId: false },
  { text: `${VECTOR}\n`, isId: false },
  { text: ` ${VECTOR}`, isId: false },
  { text: `{${VECTOR}}`, isId: false },
  { text: VECTOR.replaceAll("-", ""), isId: false },
  { text: VECTOR.slice(1), isId: false },
  { text: VECTOR.replace("0", "g"), isId: false },
  { text: "", isId: false },
];

for (const { text, isId: expected } of texts) {
  Deno.test(`${JSON.stringify(text)} is ${expected ? "an" : "no"} id`, () => {
    assertEquals(isId(text), expected);
  });
}
