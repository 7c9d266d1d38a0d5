/**
 * Identifiers: UUID version 7 (RFC 9562 section 5.7) in lower case, so that the ids of one kind sort
 * by the time they were made.
 *
 * @module
 */
import { hash } from "node:crypto";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** How many hexadecimal digits stand behind the time. */
const RANDOM_DIGITS = 20;

/** Whether `text` is a UUID in lower case, of any version. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

/** The ids made in the latest millisecond count up, so that they sort in the order they were made. */
const latest = { time_ms: -1, count: 0 };

/**
 * Makes a new id. Ids of one millisecond sort in the order in which they are made, by a counter in
 * the 12 bits behind the time (RFC 9562 section 6.2, method 1).
 *
 * @param time_ms the time it carries, in milliseconds since the epoch
 */
export function newId(time_ms: number): string {
  const time = Math.floor(time_ms);
  // What is random in it stands behind its version, as in an id of version 4.
  const random = crypto.randomUUID();
  // A counter that begins in the lower half has room for 2,048 more before it wraps.
  latest.count = time === latest.time_ms
    ? (latest.count + 1) & 0xfff
    : Number.parseInt(random.slice(15, 18), 16) & 0x7ff;
  latest.time_ms = time;
  const hex = time.toString(16).padStart(12, "0");
  const count = latest.count.toString(16).padStart(3, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${count}-${random.slice(19)}`;
}

/**
 * The id of something that is made because of `parent`, such as the execution that a run's first
 * action creates. The same arguments always give the same id, so doing the work again finds what is
 * there. It carries the parent's time and, for its random bits, a hash of all the arguments.
 *
 * @param parent the id that it derives from
 * @param parts what tells it from the parent's other children
 */
export function derivedId(parent: string, ...parts: readonly (string | number)[]): string {
  return assemble(idTime(parent), hash("sha256", JSON.stringify([parent, ...parts])));
}

/** The time that an id carries, in milliseconds since the epoch. */
export function idTime(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/**
 * The smallest possible id of a time: every id made at or after `time_ms` sorts at or behind it.
 */
export function lowestId(time_ms: number): string {
  return assemble(time_ms, "0".repeat(RANDOM_DIGITS));
}

/** @param random hexadecimal digits; of the first and the fifth the version and the variant are made */
function assemble(time_ms: number, random: string): string {
  const time = Math.floor(time_ms).toString(16).padStart(12, "0");
  const variant = (Number.parseInt(random.charAt(4), 16) & 0b11 | 0b1000).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(1, 4)}-${variant}${
    random.slice(5, 8)
  }-${random.slice(8, RANDOM_DIGITS)}`;
}
