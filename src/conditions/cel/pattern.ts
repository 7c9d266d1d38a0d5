/**
 * Patterns of `matches`, in the syntax that CEL has from RE2 (github.com/google/re2/wiki/Syntax). The
 * CEL package's own matcher takes minutes for a pattern of 40 characters and a text of 70,000. RE2 takes a
 * time that grows with the product of the two, which is limited.
 *
 * @module
 */
import { RE2JS, RE2JSException } from "re2js";
import { HooklaunchError } from "../../platform/errors.ts";
import { evictOldest } from "../../platform/evict_oldest.ts";

const CHARACTERS_MAX = 4096;
const PARTS_MAX = 10_000;
/** The estimate is far too high where repeated groups do not hold one another. */
const ESTIMATED_PARTS_MAX = 5 * PARTS_MAX;
/** RE2 refuses more repeats of one part, nested repeats multiplied. */
const REPEATS_MAX = 1000;
/** Parts times characters of one search: about a second, each takes some ten nanoseconds. */
const SEARCH_STEPS_MAX = 100_000_000;
/** A matcher can keep 8 MiB of states. */
const KEPT_MAX = 32;
/** A larger pattern is parsed for each search. */
export const KEPT_PARTS_MAX = 1000;

/** A counted repeat, and the end of the group before it, if it repeats one. */
const REPEAT = /(\)|\\E)?\{(\d+)(?:,(\d*))?\}/g;

/** A pattern cannot be used. */
export class PatternError extends HooklaunchError {
  override readonly code = "invalid_pattern";

  /** @param detail the fault, in lower case */
  constructor(detail: string) {
    super(`Invalid pattern: ${detail}`);
  }
}

/** A function of a filter is given more than it takes. */
export class FilterLimitError extends HooklaunchError {
  override readonly code = "filter_limit";
}

/** The patterns that were used last. */
const kept = new Map<string, RE2JS>();

/**
 * Parses a pattern.
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
 * Tells whether a text contains a match of a pattern.
 *
 * @throws {PatternError} when the pattern is none
 * @throws {FilterLimitError} when the search would take too long
 */
export function matches(text: string, pattern: string): boolean {
  const parsed = kept.get(pattern) ?? parsePattern(pattern);
  const parts = parsed.programSize();
  if (parts * text.length > SEARCH_STEPS_MAX) {
    throw new FilterLimitError(
      `a pattern of ${parts} parts would be looked for in ${text.length} characters`,
    );
  }
  if (parts <= KEPT_PARTS_MAX) keep(pattern, parsed);
  return parsed.test(text);
}

/** Estimates how many parts a pattern has at most: as if each repeated group held all others. */
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
