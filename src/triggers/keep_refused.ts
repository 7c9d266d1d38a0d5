/**
 * The time for which a trigger keeps the requests that it refuses.
 *
 * @module
 */
import { z } from "zod";

const UNITS_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const DURATION = /^([1-9]\d{0,4})(m|h|d)$/;
const DAYS_MAX = 30;

/** The schema of `keep_refused`: a time such as `24h`. */
export const keepRefusedSchema = z.string().regex(DURATION, {
  error: "Expected a time such as 30m, 24h or 7d",
}).refine((text) => keepTime_ms(text) <= DAYS_MAX * 86_400_000, {
  error: `Expected at most ${DAYS_MAX}d`,
}).describe(
  "The time for which requests that are refused or filtered are kept, such as 24h; at most 30d",
);

/** Returns a time as an owner writes it, in milliseconds. */
export function keepTime_ms(text: string): number {
  const [, count, unit = ""] = DURATION.exec(text) ?? [];
  return Number(count) * (UNITS_MS[unit] ?? 1);
}
