/**
 * The text of a file of variables, as most readers of such files take it: `NAME=value` a line, with or without
 * `export`. A value in quotes may have several lines, and `\n` in double quotes is a line's end. Without quotes,
 * a comment begins at a `#` behind a blank.
 *
 * @module
 */

const VARIABLE =
  /^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=([ \t]*)("[^"]*"|'[^']*'|`[^`]*`|[^\r\n]*)/gm;
const COMMENT = /[ \t]+#.*$/;

/** The variables of a file, and what its reader should know. */
interface EnvFile {
  variables: ReadonlyMap<string, string>;
  /** Sentences that tell no value. */
  remarks: readonly string[];
}

/** Parses a file of variables. Of a name that comes twice the last one counts. */
export function parseEnvFile(text: string): EnvFile {
  const variables = new Map<string, string>();
  const remarks: string[] = [];
  for (const [, name = "", blanks = "", written = ""] of text.matchAll(VARIABLE)) {
    const isQuoted = /^(["'`])[^]*\1$/.test(written) && written.length > 1;
    const value = isQuoted ? unquoted(written) : (blanks + written).replace(COMMENT, "").trim();
    if (!isQuoted && value !== written.trim()) {
      remarks.push(`${name} ends before its #, which begins a comment: in quotes it would not`);
    }
    if (value === "") remarks.push(`${name} is empty`);
    variables.set(name, value);
  }
  return { variables, remarks };
}

function unquoted(written: string): string {
  const inner = written.slice(1, -1);
  return written.startsWith('"') ? inner.replaceAll("\\n", "\n") : inner;
}
