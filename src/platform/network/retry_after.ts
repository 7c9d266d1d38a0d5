/**
 * The header `Retry-After`.
 *
 * @module
 */

/** Returns the pause that a `Retry-After` header asks for (RFC 9110 section 10.2.3), in milliseconds. */
export function retryAfter_ms(header: string | undefined, now_ms: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  // JavaScript parses much that is no HTTP date.
  const date_ms = header.endsWith(" GMT") ? Date.parse(header) : NaN;
  return Number.isNaN(date_ms) ? undefined : Math.max(0, date_ms - now_ms);
}
