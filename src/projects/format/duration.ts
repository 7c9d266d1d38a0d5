/**
 * Durations as the project configuration file writes them: `90`, `1h 30m 5s`, `2 hours`.
 *
 * @module
 */
import { z } from "zod";

const SECONDS: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 60 * 60,
  d: 24 * 60 * 60,
  w: 7 * 24 * 60 * 60,
};
const WHOLE = /^(\s*\d+(\.\d+)?\s*\p{L}+)+\s*$/u;
const PART = /(\d+(?:\.\d+)?)\s*(\p{L}+)/gu;

/**
 * A number of seconds, or a text of numbers with units of which the first letter counts: `s`, `m`
 * (minutes), `h`, `d`, `w`. Zero and an empty text mean that there is no limit.
 */
export const durationSchema = z.unknown().transform((value, context): number | undefined => {
  const seconds = typeof value === "string" ? parse(value) : value;
  if (typeof seconds === "number" && seconds >= 0 && Number.isFinite(seconds)) {
    if (typeof value === "string" || Number.isInteger(seconds)) return seconds || undefined;
  }
  context.issues.push({
    code: "custom",
    input: value,
    message: 'Expected a whole number of seconds or a duration such as "1h 30m 5s"',
  });
  return z.NEVER;
});

function parse(text: string): number | undefined {
  if (text.trim() === "") return 0;
  if (/^\s*\d+\s*$/.test(text)) return Number(text);
  if (!WHOLE.test(text)) return undefined;
  let seconds = 0;
  for (const [, amount, unit = ""] of text.matchAll(PART)) {
    const factor = SECONDS[unit[0]?.toLowerCase() ?? ""];
    // A month is no minute.
    if (factor === undefined || /^mo/i.test(unit)) return undefined;
    seconds += Number(amount) * factor;
  }
  return seconds;
}
