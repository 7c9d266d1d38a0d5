/**
 * Limits of a YAML text before it is parsed. The parser takes seconds for a text of many small
 * parts, and recurses. The lexer does neither.
 *
 * @module
 */
import { Lexer } from "yaml";

/**
 * The number of parts of a text: keys, values, marks such as `-`, `:` and `[`, comments and line
 * breaks.
 */
const PARTS_MAX = 200_000;
/** The depth to which lists and maps are nested. */
const DEPTH_MAX = 100;

/**
 * Marks that the lexer adds: in front of a scalar, at the start of a document and behind an error.
 */
const CONTROLS = ["\u0002", "\u0018", "\u001f"];
const SPACE = /^[ \t]*$/;

/** The place at which a text exceeds a limit. */
interface Excess {
  offset: number;
  detail: string;
}

/** Returns the place at which a text exceeds the limits; undefined if it does not. */
export function findExcess(text: string): Excess | undefined {
  /** The columns of the block lists and maps around the token, each within the one before. */
  const columns: number[] = [];
  let [offset, lineStart, parts, flowDepth, isLineBegun] = [0, 0, 0, 0, false];
  for (const token of new Lexer().lex(text)) {
    if (CONTROLS.includes(token)) continue;
    if (!SPACE.test(token)) {
      parts += 1;
      if (parts > PARTS_MAX) {
        return { offset, detail: `Expected at most ${PARTS_MAX} keys, values and marks` };
      }
      if (token === "[" || token === "{") flowDepth += 1;
      else if (token === "]" || token === "}") flowDepth = Math.max(0, flowDepth - 1);
      else if (flowDepth === 0 && !isLineBegun && !/[\r\n#]/.test(token.charAt(0))) {
        const column = offset - lineStart;
        while ((columns.at(-1) ?? -1) >= column) columns.pop();
        columns.push(column);
        // Another list or map may begin behind one of these marks, on the same line.
        isLineBegun = token !== "-" && token !== "?" && token !== ":";
      }
      if (columns.length + flowDepth > DEPTH_MAX) {
        return { offset, detail: `Nested too deeply: expected at most ${DEPTH_MAX} levels` };
      }
    }
    offset += token.length;
    const lineBreak = token.lastIndexOf("\n");
    if (lineBreak === -1) continue;
    lineStart = offset - token.length + lineBreak + 1;
    isLineBegun = false;
  }
}
