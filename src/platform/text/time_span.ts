/**
 * Spans of time as owners write them: `30m`, `24h` or `7d`.
 *
 * @module
 */

const UNITS_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const SPAN = /^([1-9]\d{0,4})(m|h|d)$/;

/** Tells whether a text is a span such as `24h`. */
export function isTimeSpan(text: string): boolean {
  return SPAN.test(text);
}

/** Returns a span as an owner writes it, in milliseconds. */
export function timeSpan_ms(text: string): number {
  const [, count, unit = ""] = SPAN.exec(text) ?? [];
  return Number(count) * (UNITS_MS[unit] ?? 1);
}
