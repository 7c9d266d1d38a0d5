/**
 * Fields that several items of the project configuration file have.
 *
 * @module
 */
import { z } from "zod";
import { ExpressionError, parseExpression } from "./expression.ts";

/** The words for true and false of YAML 1.1, which other readers of the format take. */
const WORDS: ReadonlyMap<unknown, boolean> = new Map([
  ...["yes", "Yes", "YES", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["no", "No", "NO", "off", "Off", "OFF"].map((word) => [word, false] as const),
]);
/** The texts that are true or false. */
export const FLAG_WORDS: readonly string[] = [...WORDS.keys()].map(String);

const SECONDS: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 60 * 60,
  d: 24 * 60 * 60,
  w: 7 * 24 * 60 * 60,
};
const DURATION = /^(\s*\d+(\.\d+)?\s*\p{L}+)+\s*$/u;
const DURATION_PART = /(\d+(?:\.\d+)?)\s*(\p{L}+)/gu;

/** Returns the boolean that a word stands for, and any other value as it is. */
export function booleanOfWord(written: unknown): unknown {
  return WORDS.get(written) ?? written;
}

/** True or false, also in the words of YAML 1.1. */
export const booleanSchema = z.preprocess(booleanOfWord, z.boolean());

/** One text or a list of texts; the result is a list. */
export const textListSchema = z.union([z.string(), z.array(z.string())])
  .transform((texts) => [texts].flat());

/**
 * A number of seconds, or a text such as `90`, `1h 30m 5s` or `2 hours`: only the first letter of a
 * unit counts, `s`, `m` (minutes), `h`, `d` or `w`. Zero and an empty text mean that there is no
 * limit.
 */
export const durationSchema = z.unknown().transform((value, context): number | undefined => {
  const seconds = typeof value === "string" ? secondsOf(value) : value;
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

/** A condition, as it is written. */
export const expressionSchema = z.string().superRefine((text, context) => {
  try {
    parseExpression(text);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const { expected, position, found } = error;
    const message = 'Expected a condition such as "metadata.accuracy < 0.8" ' +
      `(at character ${position}: expected ${expected}, found ${found})`;
    context.addIssue({ code: "custom", input: text, message });
  }
});

/** One condition or a list of conditions, as they are written; the result is a list. */
export const expressionListSchema = z.union([expressionSchema, z.array(expressionSchema)])
  .transform((conditions) => [conditions].flat());

function secondsOf(text: string): number | undefined {
  if (text.trim() === "") return 0;
  if (/^\s*\d+\s*$/.test(text)) return Number(text);
  if (!DURATION.test(text)) return undefined;
  let seconds = 0;
  for (const [, amount, unit = ""] of text.matchAll(DURATION_PART)) {
    const factor = SECONDS[unit[0]?.toLowerCase() ?? ""];
    // "mo" is a month, which has no fixed number of seconds.
    if (factor === undefined || /^mo/i.test(unit)) return undefined;
    seconds += Number(amount) * factor;
  }
  return seconds;
}
