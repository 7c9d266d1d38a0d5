/**
 * How much of a value of Deno KV a record takes.
 *
 * @module
 */

/** How large a record may be, as {@linkcode recordBytes} counts; a value holds 64 KiB. */
export const RECORD_BYTES_MAX = 60 * 1024;

/** The stored size of a record, at most about. Text that is not Latin-1 takes two bytes a character. */
export function recordBytes(record: object): number {
  const json = JSON.stringify(record);
  return /[^\0-\xff]/.test(json) ? json.length * 2 : json.length;
}
