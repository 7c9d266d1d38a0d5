/**
 * Writing text of steps and senders. A file or another program gets it unchanged. A terminal gets it without
 * control characters, which could make the terminal do something.
 *
 * @module
 */
import { writeAll } from "../../platform/files/bytes.ts";

/** A stream to write to. */
type Output = Pick<typeof Deno.stdout, "write" | "isTerminal">;

/**
 * The sequences that set colours, the other sequences, and single characters: control characters except
 * tabs, and those that change the direction of text (Unicode UAX 9, section 2).
 */
const CONTROLS =
  // deno-lint-ignore no-control-regex
  /\x1b\[[\d;:]*m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// deno-lint-ignore no-control-regex
const COLOUR = /^\x1b\[[\d;:]*m$/;
const COLOURS_OFF = "\x1b[0m";

/** Makes a line harmless for a terminal: tabs and colours stay, and colours end with the line. */
export function terminalLine(line: string): string {
  let isColoured = false;
  const text = line.replace(CONTROLS, (control) => {
    if (!COLOUR.test(control)) return control === "\r" ? " " : "";
    isColoured = true;
    return control;
  });
  return isColoured ? text + COLOURS_OFF : text;
}

/** Writes lines. */
export async function writeLines(output: Output, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return;
  const shown = output.isTerminal() ? lines.map(terminalLine) : lines;
  await writeAll(output, new TextEncoder().encode(shown.map((line) => `${line}\n`).join("")));
}

/** Ignores an error that says that the reader has read enough, such as `head`; throws every other one. */
export function ignoreBrokenPipe(error: unknown): undefined {
  if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
}
