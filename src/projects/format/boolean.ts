/**
 * True and false, where the project configuration file takes either.
 *
 * @module
 */
import { z } from "zod";

/** What YAML 1.1 takes for true and false as well; other readers of the format are readers of that. */
const WORDS: ReadonlyMap<unknown, boolean> = new Map([
  ...["yes", "Yes", "YES", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["no", "No", "NO", "off", "Off", "OFF"].map((word) => [word, false] as const),
]);

/** The boolean that a word stands for, and anything else as it is. */
export function ofWord(written: unknown): unknown {
  return WORDS.get(written) ?? written;
}

/** True or false, in the words of YAML 1.1 too. */
export const booleanSchema = z.preprocess(ofWord, z.boolean());
