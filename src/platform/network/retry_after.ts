/**
 * The header `Retry-After`.
 *
 * @module
 */

/** The longest pause, as it is in seconds: now and a later date would make no date. */
const PAUSE_MS_MAX = 999_999_999_000;

/** Returns the pause that a `Retry-After` header asks for (RFC 9110 section 10.2.3), in milliseconds. */
export function retryAfter_ms(header: string | undefined, now_ms: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  // JavaScript parses much that is no HTTP date.
  const date_ms = header.endsWith(" GMT") ? Date.parse(header) : NaN;
  if (Number.isNaN(date_ms)) return undefined;
  return Math.min(Math.max(0, date_ms - now_ms), PAUSE_MS_MAX);
}
