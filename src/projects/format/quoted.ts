/**
 * Names in messages.
 *
 * @module
 */

/** Names in quotes; "none" when there are none. */
export function quoted(names: Iterable<string>): string {
  return Array.from(names, (name) => `"${name}"`).join(", ") || "none";
}

/** The first of some names, in quotes, and how many more there are; "none" when there are none. */
export function firstQuoted(
  names: ReadonlySet<string> | ReadonlyMap<string, unknown>,
  shownMax = 10,
): string {
  const shown = quoted(names.keys().take(shownMax));
  return names.size > shownMax ? `${shown} and ${names.size - shownMax} more` : shown;
}
