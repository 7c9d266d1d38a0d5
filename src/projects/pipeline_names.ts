/**
 * Names in messages about pipelines.
 *
 * @module
 */

const SHOWN_MAX = 10;

/** The first of some names, in quotes, and how many more there are; "none" when there are none. */
export function shownNames(names: ReadonlySet<string> | ReadonlyMap<string, unknown>): string {
  const shown = [...names.keys().take(SHOWN_MAX)].map((name) => `"${name}"`).join(", ");
  if (names.size > SHOWN_MAX) return `${shown} and ${names.size - SHOWN_MAX} more`;
  return shown || "none";
}
