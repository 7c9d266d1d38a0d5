/** What a terminal is given of what steps printed. */
import { assertEquals } from "@std/assert";
import { terminalLine, writeLines } from "../../../src/commands/console/terminal.ts";

const CASES: [name: string, line: string, shown: string][] = [
  ["plain text", "a\tb ü €", "a\tb ü €"],
  ["colours, which end with the line", "\x1b[1;31mred", "\x1b[1;31mred\x1b[0m"],
  ["colours that are off already", "\x1b[31mred\x1b[0m.", "\x1b[31mred\x1b[0m.\x1b[0m"],
  ["true colour", "\x1b[38:2::1:2:3mx", "\x1b[38:2::1:2:3mx\x1b[0m"],
  ["clearing the screen", "a\x1b[2Jb\x1b[Hc", "abc"],
  ["asking the terminal", "\x1b[6n\x1b[>c", ""],
  ["a title", "\x1b]0;evil\x07a\x1b]2;evil\x1b\\b", "ab"],
  ["a link", "\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", "text"],
  ["a progress bar", "10%\r20%", "10% 20%"],
  ["other escapes", "\x1bc\x1b(0", "c(0"],
  ["the upper control characters", "a\x9b2Jb\x85", "a2Jb"],
  ["text that is turned around", "a\u202eb\u2066c\u200fd\u061ce", "abcde"],
  ["bells and backspaces", "a\x07\x08\x7fb\0", "ab"],
];

function output(isTerminal: boolean) {
  const written: number[] = [];
  return {
    isTerminal: () => isTerminal,
    // Takes a part of what it is given, as a pipe may.
    write(bytes: Uint8Array) {
      const part = bytes.subarray(0, 3);
      written.push(...part);
      return Promise.resolve(part.length);
    },
    get text() {
      return new TextDecoder().decode(Uint8Array.from(written));
    },
  };
}

Deno.test("a terminal gets tabs and colours, and nothing else that would move it", async (t) => {
  for (const [name, line, shown] of CASES) {
    await t.step(name, () => assertEquals(terminalLine(line), shown));
  }
});

Deno.test("lines are written whole, and as they are when it is no terminal", async () => {
  const lines = CASES.map(([, line]) => line);
  const pipe = output(false);
  await writeLines(pipe, lines);
  assertEquals(pipe.text, lines.map((line) => `${line}\n`).join(""));
  const terminal = output(true);
  await writeLines(terminal, lines);
  assertEquals(terminal.text, CASES.map(([, , shown]) => `${shown}\n`).join(""));
});
