/**
 * Limits of a YAML text that is not parsed yet. The parser takes seconds for a text of many small parts, and
 * recurses; the lexer does neither.
 *
 * @module
 */
import { Lexer } from "yaml";

/** How many parts a text may have: keys, values, marks such as `-`, `:` and `[`, comments and line breaks. */
export const YAML_PARTS_MAX = 200_000;
/** How deep lists and maps may be nested. */
export const YAML_DEPTH_MAX = 100;

/** Marks that the lexer puts in front of texts, at the start of a document and behind an error. */
const CONTROLS = ["\u0002", "\u0018", "\u001f"];
const SPACE = /^[ \t]*$/;

/** What is too much of a text, and the offset at which it is. */
export interface TooMuch {
  offset: number;
  detail: string;
}

/** Returns the place at which a text exceeds the limits; undefined if it does not. */
export function findTooMuch(text: string): TooMuch | undefined {
  /** The columns of the block lists and maps around the token, each in the one before. */
  const columns: number[] = [];
  let [offset, lineStart, parts, flowDepth, isLineBegun] = [0, 0, 0, 0, false];
  for (const token of new Lexer().lex(text)) {
    if (CONTROLS.includes(token)) continue;
    if (!SPACE.test(token)) {
      parts += 1;
      if (parts > YAML_PARTS_MAX) {
        return { offset, detail: `Expected at most ${YAML_PARTS_MAX} keys, values and marks` };
      }
      if (token === "[" || token === "{") flowDepth += 1;
      else if (token === "]" || token === "}") flowDepth = Math.max(0, flowDepth - 1);
      else if (flowDepth === 0 && !isLineBegun && !/[\r\n#]/.test(token.charAt(0))) {
        const column = offset - lineStart;
        while ((columns.at(-1) ?? -1) >= column) columns.pop();
        columns.push(column);
        // Behind these the next list or map begins on the same line.
        isLineBegun = token !== "-" && token !== "?" && token !== ":";
      }
      if (columns.length + flowDepth > YAML_DEPTH_MAX) {
        return { offset, detail: `Nested too deeply: expected at most ${YAML_DEPTH_MAX} levels` };
      }
    }
    offset += token.length;
    const lineBreak = token.lastIndexOf("\n");
    if (lineBreak === -1) continue;
    lineStart = offset - token.length + lineBreak + 1;
    isLineBegun = false;
  }
}
