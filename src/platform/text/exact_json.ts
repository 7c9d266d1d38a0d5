/**
 * JSON whose numbers keep all their digits.
 *
 * @module
 */
import { rawJson } from "./raw_json.ts";

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
/** Stands for an integer beyond int64. */
const BEYOND = 2n ** 64n;
/** No integer of int64 has more digits. */
const INT64_DIGITS_MAX = 19;
/** An integer that a double may round has 16 digits or more. The first search skips most of a text. */
const DIGITS = /\d{16}/;
const LONG_NUMBER = /(?:^|[[:,\s])-?\d{16}/;
const INTEGER = /^-?\d+$/;
/** A text of JSON, or a number of it. */
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * Parses JSON. An integer that JavaScript's numbers do not hold is a bigint; one beyond int64 is a bigint beyond
 * int64, and not that integer.
 */
export function parseExactJson(text: string): unknown {
  return hasLongNumber(text) ? JSON.parse(text, exactNumber) : JSON.parse(text);
}

/** Parses JSON. An integer that JavaScript would write with other digits is the text of its digits. */
export function parseJsonWithDigits(text: string): unknown {
  return hasLongNumber(text) ? JSON.parse(text, numberOrDigits) : JSON.parse(text);
}

function hasLongNumber(text: string): boolean {
  return DIGITS.test(text) && LONG_NUMBER.test(text);
}

/** Tells whether an integer of {@linkcode parseExactJson} is exact. */
export function isInt64(value: bigint): boolean {
  return value >= INT64_MIN && value <= INT64_MAX;
}

/** Parses JSON to a value that `JSON.stringify` writes with the same numbers: `1.0` is not `1`. */
export function parseRawJson(text: string): unknown {
  // Of what is no JSON, a text may have no end, and each quotation mark in it would be a beginning.
  const value: unknown = JSON.parse(text);
  // A reviver that looks at each of 100,000 numbers takes a quarter of a second.
  const mark = crypto.randomUUID();
  const marked = text.replace(
    TEXT_OR_NUMBER,
    (part) => part.startsWith('"') || String(Number(part)) === part ? part : `"${mark}${part}"`,
  );
  return marked === text ? value : withRawNumbers(JSON.parse(marked), mark);
}

function withRawNumbers(value: unknown, mark: string): unknown {
  if (typeof value === "string") {
    return value.startsWith(mark) ? rawJson(value.slice(mark.length)) : value;
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((inner) => withRawNumbers(inner, mark));
  const entries = Object.entries(value).map(([name, inner]) => [name, withRawNumbers(inner, mark)]);
  return Object.fromEntries(entries);
}

/** A reviver; TypeScript's types leave the source text out. */
function exactNumber(_key: string, value: unknown, ...[written]: [{ source: string }?]): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = written?.source ?? "";
  if (!INTEGER.test(source)) return value;
  const digits = source.replace("-", "").length;
  if (digits > INT64_DIGITS_MAX) return source.startsWith("-") ? -BEYOND : BEYOND;
  return BigInt(source);
}

function numberOrDigits(
  _key: string,
  value: unknown,
  ...[written]: [{ source: string }?]
): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = written?.source ?? "";
  return INTEGER.test(source) && String(value) !== source ? source : value;
}
