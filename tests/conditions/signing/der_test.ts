/** DER is read in its one form alone; what is written is read. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { derToRaw, rawToDer } from "../../../src/conditions/signing/der.ts";
import { withFlippedBit } from "../../arbitraries.ts";

Deno.test("derToRaw reads what rawToDer wrote", () => {
  const raw = fc.uint8Array({ minLength: 64, maxLength: 64 });
  const small = raw.map((bytes) => bytes.fill(0, 0, 20).fill(0, 32, 63));
  fc.assert(fc.property(fc.oneof(raw, small), (bytes) => {
    assertEquals(derToRaw(rawToDer(bytes)), bytes);
  }));
});

Deno.test("whatever derToRaw takes is the one form in which rawToDer writes it", () => {
  const raw = fc.uint8Array({ minLength: 64, maxLength: 64 });
  const small = raw.map((bytes) => bytes.fill(0, 0, 30).fill(0, 32, 63));
  const changed = fc.tuple(fc.oneof(raw, small), fc.nat(), fc.uint8Array({ maxLength: 2 }))
    .map(([bytes, at, more]) => Uint8Array.from([...withFlippedBit(rawToDer(bytes), at), ...more]));
  const integer = fc.uint8Array({ maxLength: 4 }).map((bytes) => [2, bytes.length, ...bytes]);
  const made = fc.array(integer, { maxLength: 3 })
    .map((all) => Uint8Array.from([0x30, all.flat().length, ...all.flat()]));
  fc.assert(
    fc.property(fc.oneof(changed, made, fc.uint8Array()), (der) => {
      const read = derToRaw(der);
      if (read) assertEquals(rawToDer(read), der);
    }),
    { numRuns: 1000 },
  );
});

const malformed: { name: string; der: string }[] = [
  { name: "nothing", der: "" },
  { name: "no sequence", der: "0206020101020101" },
  { name: "a length that is too small", der: "3005020101020101" },
  { name: "a length that is too large", der: "3007020101020101" },
  { name: "a length in its long form", der: "308106020101020101" },
  { name: "bytes behind the end", der: "300602010102010100" },
  { name: "bytes behind the end, inside", der: "300702010102010100" },
  { name: "one number", der: "3003020101" },
  { name: "three numbers", der: "3009020101020101020101" },
  { name: "an empty number", der: "30050200020101" },
  { name: "a negative number", der: "3006020181020101" },
  { name: "a number with a zero too many", der: "300702020001020101" },
  { name: "no number", der: "3006040101020101" },
  { name: "a number of 33 bytes", der: `30260221${"01".repeat(33)}020101` },
  { name: "a number that is cut off", der: "300602010102ff01" },
];

for (const { name, der } of malformed) {
  Deno.test(`derToRaw refuses ${name}`, () => {
    assertEquals(derToRaw(Uint8Array.fromHex(der)), undefined);
  });
}
