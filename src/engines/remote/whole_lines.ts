/**
 * Splits what a command has printed into pieces of whole lines, each small enough for one value of the
 * database.
 *
 * @module
 */
import { LINE_BYTES_MAX, shownPart } from "../shared/log_format.ts";

/** The most bytes of a piece. A value of Deno KV holds 64 KiB, of which a record's head takes some. */
const PIECE_BYTES_MAX = 60 * 1024;
const LINE_BREAK = 0x0a;
const NOTHING = new Uint8Array(0);

/** A piece of a stream. */
interface Piece {
  /** Whole lines; empty for the rest of a line that was cut. */
  content: Uint8Array;
  /** The number of bytes up to its end. */
  end: number;
}

/** The pieces of some bytes. What is behind the last piece is to come again. */
interface Pieces {
  pieces: Piece[];
  /** True when the last piece is the start of a line that is too long to be kept. */
  isInLongLine: boolean;
}

/** The place of bytes in their stream. */
interface SplitOptions {
  /** True when they begin within a line whose start was a piece. */
  isInLongLine: boolean;
  /** True when no bytes follow. */
  isLast: boolean;
}

/** Splits bytes. */
export function splitLines(
  bytes: Uint8Array,
  { isInLongLine, isLast }: SplitOptions,
): Pieces {
  const pieces: Piece[] = [];
  let at = 0;
  let inLongLine = isInLongLine;
  while (at < bytes.length) {
    if (inLongLine) {
      const lineBreak = bytes.indexOf(LINE_BREAK, at);
      at = lineBreak === -1 ? bytes.length : lineBreak + 1;
      inLongLine = lineBreak === -1;
      pieces.push({ content: NOTHING, end: at });
      continue;
    }
    const part = bytes.subarray(at, at + PIECE_BYTES_MAX);
    const lines = part.lastIndexOf(LINE_BREAK) + 1;
    if (lines > 0) {
      at += lines;
      pieces.push({ content: part.subarray(0, lines), end: at });
    } else if (part.length === PIECE_BYTES_MAX) {
      at += part.length;
      inLongLine = true;
      pieces.push({ content: startOfLine(part), end: at });
    } else {
      if (isLast) pieces.push({ content: part, end: bytes.length });
      break;
    }
  }
  return { pieces, isInLongLine: inLongLine };
}

/** Returns the part of a long line that is shown, as a line. One byte more than is shown says that it was cut. */
function startOfLine(bytes: Uint8Array): Uint8Array {
  const shown = shownPart(bytes).subarray(0, LINE_BYTES_MAX + 1);
  const line = new Uint8Array(shown.length + 1);
  line.set(shown);
  line[shown.length] = LINE_BREAK;
  return line;
}
