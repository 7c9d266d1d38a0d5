/**
 * How much of a value of Deno KV a record takes.
 *
 * @module
 */
import type { Write } from "./committer.ts";

/** How large a record may be, as {@linkcode recordBytes} counts; a value holds 64 KiB. */
export const RECORD_BYTES_MAX = 60 * 1024;

/** What a stored value takes beside its record. */
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

/** How long the texts are that are not Latin-1, names of fields among them. */
function wideLength(value: unknown): number {
  if (typeof value === "string") return NOT_LATIN_1.test(value) ? value.length : 0;
  if (typeof value !== "object" || value === null) return 0;
  return Object.entries(value).reduce(
    (sum, [name, inner]) => sum + wideLength(name) + wideLength(inner),
    0,
  );
}
