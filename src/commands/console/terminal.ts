/**
 * Writing what steps printed and senders sent. A file or another program gets it as it is; a terminal
 * gets it without the control characters that would make it do something.
 *
 * @module
 */
import { writeAll } from "../../platform/files/bytes.ts";

/** Where it is written. */
export type Output = Pick<typeof Deno.stdout, "write" | "isTerminal">;

/**
 * The sequences that set colours, the other sequences, and single characters: control characters but
 * tabs, and those that turn the direction of text (Unicode UAX 9, section 2).
 */
const CONTROLS =
  // deno-lint-ignore no-control-regex
  /\x1b\[[\d;:]*m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// deno-lint-ignore no-control-regex
const COLOUR = /^\x1b\[[\d;:]*m$/;
const COLOURS_OFF = "\x1b[0m";

/** A line as a terminal may have it: tabs and colours stay, and colours end with the line. */
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
