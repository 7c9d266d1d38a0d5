/**
 * What property tests of parsers have in common: texts of every kind, texts that are a little wrong, and
 * whether a place lies inside a text.
 *
 * @module
 */
import { assert } from "@std/assert";
import fc from "fast-check";

/** Of all code points these are none of a text: halves of surrogate pairs. */
const SURROGATES = { first: 0xd800, count: 0x800 };

/**
 * The same as unit "binary" of the library, which takes two seconds and 160 MB to be made: it looks for the
 * words that it tries, such as `__proto__`, in a map of all code points there are.
 */
export const codePoint = fc.nat(0x10ffff - SURROGATES.count).map(
  (place) => String.fromCodePoint(place < SURROGATES.first ? place : place + SURROGATES.count),
  (text) => {
    const [point, ...more] = Array.from(String(text), (each) => each.codePointAt(0) ?? 0);
    const isOne = point !== undefined && more.length === 0 && String(text).isWellFormed();
    if (!isOne) throw new TypeError(`Expected one code point, found ${JSON.stringify(text)}`);
    return point < SURROGATES.first ? point : point - SURROGATES.count;
  },
);

/** Well-formed text of any code points. */
export function unicode(size: fc.ArrayConstraints = {}): fc.Arbitrary<string> {
  return fc.string({ ...size, unit: codePoint });
}

/** Code units in any order, halves of surrogate pairs among them. */
const codeUnits = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
});

/** Any text, be it well-formed or not. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string(),
  unicode(),
  fc.string({ unit: "grapheme" }),
  codeUnits,
);

/** Texts that are made of pieces of a language, in any order. */
export function pieces(...of: readonly string[]): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...of), { maxLength: 30 }).map((parts) => parts.join(""));
}

/** A text in which a few things were cut out, put in or said again. */
export function mutated(text: string, ...put: readonly string[]): fc.Arbitrary<string> {
  const at = fc.nat(text.length);
  const added = fc.oneof(
    fc.constant(""),
    unicode({ maxLength: 3 }),
    fc.tuple(at, fc.nat(20)).map(([from, length]) => text.slice(from, from + length)),
    ...put.length > 0 ? [fc.constantFrom(...put)] : [],
  );
  const edits = fc.array(fc.tuple(at, fc.nat(12), added), { minLength: 1, maxLength: 4 });
  return edits.map((all) =>
    all.reduce(
      (changed, [from, length, put]) => changed.slice(0, from) + put + changed.slice(from + length),
      text,
    )
  );
}

/** Bytes with one bit of them turned around. */
export function withFlippedBit(bytes: Uint8Array, at: number): Uint8Array<ArrayBuffer> {
  const changed = Uint8Array.from(bytes);
  const index = Math.floor(at / 8) % bytes.length;
  changed[index] = (changed[index] ?? 0) ^ (1 << (at % 8));
  return changed;
}

/** Asserts that a line and a column, both counted from 1, are in a text or right behind its end. */
export function assertInside(text: string, { line, column }: { line: number; column: number }) {
  const found = text.split("\n")[line - 1];
  assert(found !== undefined, `line ${line} of ${JSON.stringify(text)}`);
  assert(
    Number.isInteger(column) && column >= 1 && column <= found.length + 1,
    `column ${column} of line ${line} of ${JSON.stringify(text)}`,
  );
}

/** Tells which of many cases that are alike this run tries: each nth, from a random one on. */
export function eachOf(nth: number): (place: number) => boolean {
  const first = Math.floor(nth * Math.random());
  return (place) => (place + first) % nth === 0;
}
