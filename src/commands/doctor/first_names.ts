/**
 * Names for one line.
 *
 * @module
 */
const SHOWN_MAX = 5;

/** Lists the first names of some things, such as `triggers "a" and "b"`, and how many more there are. */
export function firstNames(noun: string, named: readonly { name: string }[]): string {
  const names = [...new Set(named.map(({ name }) => name))];
  const shown = names.slice(0, SHOWN_MAX).map((name) => `"${name}"`).join(", ");
  const more = names.length > SHOWN_MAX ? ` and ${names.length - SHOWN_MAX} more` : "";
  return `${noun}${names.length === 1 ? "" : "s"} ${shown}${more}`;
}
