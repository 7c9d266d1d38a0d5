/**
 * Colours of words that say how something is, for people at a terminal.
 *
 * @module
 */
import { environment } from "../input/environment.ts";

const BOLD = 1;
const RED = 31;
const GREEN = 32;
const YELLOW = 33;
const CYAN = 36;

/** The colours of states and outcomes. */
const COLOURS: Readonly<Record<string, number>> = {
  complete: GREEN,
  accepted: GREEN,
  error: RED,
  complete_with_error: RED,
  refused: RED,
  unavailable: RED,
  stopping: YELLOW,
  stopped: YELLOW,
  awaiting_approval: YELLOW,
  filtered: YELLOW,
  repeat: YELLOW,
  pending: CYAN,
  created: CYAN,
  queued: CYAN,
  started: CYAN,
  running: CYAN,
  sending: CYAN,
  waiting: CYAN,
};

/** The headings of columns and fields with such words. */
const COLOURED = ["status", "state", "outcome", "work"];

/** Tells whether standard output takes colours: a terminal that can, whose user has not said NO_COLOR. */
export function takesColours(): boolean {
  return Deno.stdout.isTerminal() && environment("NO_COLOR") === undefined &&
    environment("TERM") !== "dumb";
}

/** Emphasises a heading. */
export function emphasised(text: string): string {
  return paint(text, BOLD);
}

/** Colours the first word of a cell, if the cell's heading says that it is a state, and the word is known. */
export function coloured(heading: string, text: string): string {
  const [word = ""] = /^\w+/.exec(text) ?? [];
  const colour = COLOURED.includes(heading) && Object.hasOwn(COLOURS, word)
    ? COLOURS[word]
    : undefined;
  return colour === undefined ? text : paint(word, colour) + text.slice(word.length);
}

function paint(text: string, code: number): string {
  return `\x1b[${code}m${text}\x1b[0m`;
}
