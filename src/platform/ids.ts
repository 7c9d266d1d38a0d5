/**
 * Identifiers: UUID version 7 (RFC 9562 section 5.7) in lower case. The ids of one kind sort by the
 * time at which they were made.
 *
 * @module
 */
import { hash } from "node:crypto";

/** A UUID in lower case. */
export const ID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** The number of hexadecimal digits behind the time. */
const RANDOM_DIGITS = 20;

/** Returns true for a UUID in lower case, of any version. */
export function isId(text: string): boolean {
  return ID_PATTERN.test(text);
}

/**
 * The counter of the ids of the latest millisecond, by which they sort in the order in which they
 * are made.
 */
const latest = { time_ms: -1, count: 0 };

/**
 * Makes a new id. The 12 bits behind the time count the ids of one millisecond (RFC 9562 section
 * 6.2, method 1).
 *
 * @param time_ms the time of the id, in milliseconds since the epoch
 */
export function newId(time_ms: number): string {
  const time = Math.floor(time_ms);
  // An id of version 4 has its random digits behind the version, too.
  const random = crypto.randomUUID();
  // A counter that starts in the lower half counts 2,048 ids or more before it wraps.
  latest.count = time === latest.time_ms
    ? (latest.count + 1) & 0xfff
    : Number.parseInt(random.slice(15, 18), 16) & 0x7ff;
  latest.time_ms = time;
  const hex = time.toString(16).padStart(12, "0");
  const count = latest.count.toString(16).padStart(3, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${count}-${random.slice(19)}`;
}

/**
 * Derives the id of something that `parent` causes, such as the execution that a run's first action
 * creates. The same arguments always give the same id, so work that is done again finds what it
 * made. The id has the parent's time and, for its random bits, a hash of all arguments.
 *
 * @param parts distinguish it from the parent's other children
 */
export function derivedId(parent: string, ...parts: readonly (string | number)[]): string {
  return assemble(idTime(parent), hash("sha256", JSON.stringify([parent, ...parts])));
}

/** Returns the time of an id, in milliseconds since the epoch. */
export function idTime(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/**
 * Returns the smallest id of a time: every id that is made at or after `time_ms` sorts at or behind
 * it.
 */
export function lowestId(time_ms: number): string {
  return assemble(time_ms, "0".repeat(RANDOM_DIGITS));
}

/**
 * @param random hexadecimal digits; the version replaces the first, and the variant changes the
 *   fifth
 */
function assemble(time_ms: number, random: string): string {
  const time = Math.floor(time_ms).toString(16).padStart(12, "0");
  const variant = (Number.parseInt(random.charAt(4), 16) & 0b11 | 0b1000).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(1, 4)}-${variant}${
    random.slice(5, 8)
  }-${random.slice(8, RANDOM_DIGITS)}`;
}
