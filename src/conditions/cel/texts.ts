/**
 * Functions for texts that the CEL package has otherwise than cel-go (ext/strings): it counts UTF-16 units, so that it
 * cuts characters in two, drops what is behind the last part of `split`, and does not know that a negative limit is none.
 *
 * @module
 */
import { type CelFunc, celList, celMethod, CelScalar, listType } from "@bufbuild/cel";
import { FilterLimitError } from "./pattern.ts";

const { INT, STRING } = CelScalar;
const TEXTS = listType(STRING);

/** The functions. */
export const textFunctions: readonly CelFunc[] = [
  celMethod("indexOf", STRING, [STRING], INT, function (sought) {
    return indexOf(this, sought);
  }),
  celMethod("indexOf", STRING, [STRING, INT], INT, function (sought, start) {
    return indexOf(this, sought, start);
  }),
  celMethod("replace", STRING, [STRING, STRING], STRING, function (old, other) {
    return replace(this, old, other);
  }),
  celMethod("replace", STRING, [STRING, STRING, INT], STRING, function (old, other, most) {
    return replace(this, old, other, most);
  }),
  celMethod("split", STRING, [STRING], TEXTS, function (separator) {
    return celList(split(this, separator));
  }),
  celMethod("split", STRING, [STRING, INT], TEXTS, function (separator, most) {
    return celList(split(this, separator, most));
  }),
  celMethod("substring", STRING, [INT], STRING, function (start) {
    return this.slice(unitOf("substring", this, start));
  }),
  celMethod("substring", STRING, [INT, INT], STRING, function (start, end) {
    if (start > end) throw new FilterLimitError(`substring() from ${start} to ${end}`);
    return this.slice(unitOf("substring", this, start), unitOf("substring", this, end));
  }),
];

/** Counts the characters of a text, which are code points. */
export function countCodePoints(text: string): bigint {
  let count = 0;
  for (const _ of text) count++;
  return BigInt(count);
}

/** Returns the UTF-16 unit at which a character begins, or the end of the text. */
function unitOf(name: string, text: string, place: bigint): number {
  let unit = 0;
  let left = Number(place);
  for (; left > 0 && unit < text.length; left--) {
    unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
  }
  if (left === 0) return unit;
  throw new FilterLimitError(
    `${name}() of a text of ${countCodePoints(text)} characters: there is no place ${place}`,
  );
}

function indexOf(text: string, sought: string, start = 0n): bigint {
  if (start > 0n && start > countCodePoints(text)) return -1n;
  const found = text.indexOf(sought, unitOf("indexOf", text, start));
  return found === -1 ? -1n : countCodePoints(text.slice(0, found));
}

/** @param most the most parts; all where it is negative */
function split(text: string, separator: string, most = -1n): string[] {
  return limited(separator === "" ? [...text] : text.split(separator), separator, most);
}

/** @param most the most replacements; all where it is negative */
function replace(text: string, old: string, other: string, most = -1n): string {
  const parts = old === "" ? ["", ...text, ""] : text.split(old);
  return limited(parts, old, most < 0n ? most : most + 1n).join(other);
}

/** Joins what is beyond a number of parts to the last of them. */
function limited(parts: string[], separator: string, most: bigint): string[] {
  if (most < 0n || parts.length <= most) return parts;
  const last = Number(most) - 1;
  return last < 0 ? [] : [...parts.slice(0, last), parts.slice(last).join(separator)];
}
