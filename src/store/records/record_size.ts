/**
 * The size of a record as a value of Deno KV.
 *
 * @module
 */
import type { Write } from "../commit/change.ts";

/** Limit of a record's size, as {@linkcode recordBytes} counts. A value of Deno KV holds 64 KiB. */
export const RECORD_BYTES_MAX = 60 * 1024;

/** Overhead of a stored value. */
const BESIDE_BYTES = 256;

const NOT_LATIN_1 = /[^\0-\xff]/;

/** The stored size of a record, at most about. A text that is not Latin-1 takes two bytes a character. */
export function recordBytes(record: object): number {
  const json = JSON.stringify(record);
  return NOT_LATIN_1.test(json) ? json.length + wideLength(record) : json.length;
}

/**
 * The write that stores a record.
 *
 * @param bytes its size, where the caller knows it
 */
export function recordWrite(
  key: Deno.KvKey,
  record: object,
  bytes: number = recordBytes(record),
): Write {
  return { key, value: record, bytes: bytes + BESIDE_BYTES };
}

/** Length of the texts that are not Latin-1, names of fields included. */
function wideLength(value: unknown): number {
  if (typeof value === "string") return NOT_LATIN_1.test(value) ? value.length : 0;
  if (typeof value !== "object" || value === null) return 0;
  return Object.entries(value).reduce(
    (sum, [name, inner]) => sum + wideLength(name) + wideLength(inner),
    0,
  );
}
