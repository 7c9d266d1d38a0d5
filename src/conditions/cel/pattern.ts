/**
 * Patterns of `matches`, in the syntax that CEL has from RE2 (github.com/google/re2/wiki/Syntax). The
 * matcher that comes with the CEL package takes minutes for a pattern of 40 characters and a text of
 * 70,000. The one used here takes a time that grows with the size of the two, which has limits, since
 * it cannot be stopped.
 *
 * @module
 */
import { RE2JS, RE2JSException } from "re2js";
import { HooklaunchError } from "../../platform/errors.ts";
import { evictOldest } from "../../platform/evict_oldest.ts";
import { search } from "./meter.ts";

const CHARACTERS_MAX = 4096;
const PARTS_MAX = 10_000;
/** What is estimated is far too much where groups are repeated that do not hold one another. */
const ESTIMATED_PARTS_MAX = 5 * PARTS_MAX;
/** RE2 takes no more than so many repeats of the same part, within one another. */
const REPEATS_MAX = 1000;
/** A matcher can come to hold 8 MiB of what it has learnt about texts. */
const KEPT_MAX = 32;
const KEPT_PARTS_MAX = 1000;

/** A counted repeat, and whether what it repeats can be longer than a character. */
const REPEAT = /(\)|\\E)?\{(\d+)(?:,(\d*))?\}/g;

/** A pattern that cannot be used, and why. */
export class PatternError extends HooklaunchError {
  override readonly code = "invalid_pattern";

  /** @param detail what is wrong, in lower case */
  constructor(detail: string) {
    super(`Invalid pattern: ${detail}`);
  }
}

/** Those that were asked for last, since a macro asks for the same one each time. */
const kept = new Map<string, RE2JS>();

/**
 * Reads a pattern.
 *
 * @throws {PatternError} when it is none, or too large
 */
export function parsePattern(pattern: string): RE2JS {
  if (pattern.length > CHARACTERS_MAX) {
    throw new PatternError(`has more than ${CHARACTERS_MAX} characters`);
  }
  const tooMany = `has repeats that make more than ${PARTS_MAX} parts`;
  if (partsAtMost(pattern) > ESTIMATED_PARTS_MAX) throw new PatternError(tooMany);
  try {
    const parsed = RE2JS.compile(pattern);
    if (parsed.programSize() <= PARTS_MAX) return parsed;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw new PatternError(error.message.replace("error parsing regexp: ", ""));
  }
  throw new PatternError(tooMany);
}

/**
 * Whether a text holds something that a pattern matches. Throws when that costs more than the
 * evaluation may.
 *
 * @throws {PatternError} when the pattern is none
 */
export function matches(text: string, pattern: string): boolean {
  const parsed = kept.get(pattern) ?? parsePattern(pattern);
  search(parsed.programSize(), text.length);
  if (parsed.programSize() <= KEPT_PARTS_MAX) keep(pattern, parsed);
  return parsed.test(text);
}

/** About how many parts a pattern can have at most: as if each repeated group held all others. */
function partsAtMost(pattern: string): number {
  let parts = pattern.length;
  let repeats = 1;
  for (const [, isGroup, least = "", most] of pattern.matchAll(REPEAT)) {
    const count = Number(most || least);
    if (isGroup === undefined) parts += count;
    else repeats = Math.min(REPEATS_MAX, repeats * Math.max(1, count));
  }
  return parts * repeats;
}

function keep(pattern: string, parsed: RE2JS): void {
  kept.delete(pattern);
  kept.set(pattern, parsed);
  evictOldest(kept, KEPT_MAX);
}
