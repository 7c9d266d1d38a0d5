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
  return JSON.parse(text, rawNumber);
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

function rawNumber(_key: string, value: unknown, ...[written]: [{ source: string }?]): unknown {
  if (typeof value !== "number" || written === undefined) return value;
  // An object for each number takes long to make.
  return String(value) === written.source ? value : rawJson(written.source);
}
