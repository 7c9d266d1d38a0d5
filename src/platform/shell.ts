/**
 * Text of a POSIX shell.
 *
 * @module
 */

/** Characters that need no quotes. */
const SAFE = /^[\w@%+=:,./-]+$/;

/** Quotes an argument for a POSIX shell. */
export function shellQuote(argument: string): string {
  if (SAFE.test(argument)) return argument;
  return `'${argument.replaceAll("'", `'"'"'`)}'`;
}
