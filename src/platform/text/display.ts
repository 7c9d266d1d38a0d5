/**
 * Values as people read them.
 *
 * @module
 */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** Cuts a text to a number of characters, and adds an ellipsis if it was longer. */
export function truncate(text: string, charactersMax: number): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}

/**
 * Formats a number of bytes in the largest unit of which there is at least one, such as `12.3 MiB`.
 */
export function formatBytes(bytes: number): string {
  let unit = 0;
  let size = bytes;
  for (; size >= 1_024 && unit < UNITS.length - 1; unit++) size /= 1_024;
  return `${unit === 0 ? size : size.toFixed(1)} ${UNITS[unit]}`;
}

/** Lists names in quotes; "none" for none. */
export function quotedList(names: Iterable<string>): string {
  return Array.from(names, (name) => `"${name}"`).join(", ") || "none";
}

/** Lists the first names in quotes, and how many more there are; "none" for none. */
export function firstQuoted(
  names: ReadonlySet<string> | ReadonlyMap<string, unknown>,
  shownMax = 10,
): string {
  const shown = quotedList(names.keys().take(shownMax));
  return names.size > shownMax ? `${shown} and ${names.size - shownMax} more` : shown;
}
