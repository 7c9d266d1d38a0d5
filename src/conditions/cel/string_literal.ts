/**
 * The string literals of CEL, for what reads an expression before its parser does.
 *
 * @module
 */

/**
 * The pattern of a string or of bytes (cel-spec, doc/langdef.md, "String and Bytes Values"). In a raw one, a backslash
 * is itself; one between three quotes may hold single ones, and several lines.
 */
export const STRING_LITERAL: string = [
  String.raw`(?:[bB]?[rR])(?:"""[^]*?"""|'''[^]*?'''|"[^"\n\r]*"|'[^'\n\r]*')`,
  String.raw`"""(?:\\[^]|[^\\])*?"""|'''(?:\\[^]|[^\\])*?'''`,
  String.raw`"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'`,
].join("|");
