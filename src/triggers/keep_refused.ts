/**
 * The time for which a trigger keeps the requests that it refuses. This file loads no schema: the service
 * needs it at its start.
 *
 * @module
 */

const UNITS_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const DURATION = /^([1-9]\d{0,4})(m|h|d)$/;

/** The longest time for which requests are kept. */
export const KEEP_TIME_MAX = "30d";

/** Tells whether a text is a time such as `24h`. */
export function isKeepTime(text: string): boolean {
  return DURATION.test(text);
}

/** Returns a time as an owner writes it, in milliseconds. */
export function keepTime_ms(text: string): number {
  const [, count, unit = ""] = DURATION.exec(text) ?? [];
  return Number(count) * (UNITS_MS[unit] ?? 1);
}
