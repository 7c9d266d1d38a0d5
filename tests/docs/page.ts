/**
 * Running a page: its files are written, its commands run, and their output is compared.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { type Block, blocksOf } from "./blocks.ts";
import type { Terminal } from "./terminal.ts";

/** Runs the blocks of a page in their order; fails where a command fails, or prints something else. */
export async function runPage(terminal: Terminal, path: string): Promise<void> {
  let printed = "";
  for (const block of blocksOf(path)) {
    if (printed !== "" && isOutput(block)) assertPrinted(printed, block);
    printed = await runBlock(terminal, block);
  }
}

/** Returns true for a block whose commands run. */
export function isRun({ language, marks, file }: Block): boolean {
  return language === "sh" && file === undefined && !marks.includes("not-run");
}

/** Runs a block, if it is one to run, and returns what it printed. */
async function runBlock(terminal: Terminal, block: Block): Promise<string> {
  const { file, marks, text, at } = block;
  if (file !== undefined) await terminal.write(file, text);
  if (!isRun(block)) return "";
  if (marks.includes("stopped")) await terminal.stop();
  if (marks.includes("service")) {
    await terminal.serve(text);
    return "";
  }
  const { code, printed } = await terminal.run(text);
  assertEquals(code, 0, `${at}\n${text}\nprinted:\n${printed}`);
  return printed;
}

function isOutput({ language, follows }: Block): boolean {
  return follows && (language === "text" || language === "json");
}

function assertPrinted(printed: string, block: Block): void {
  if (block.language === "json") assertJson(printed, block);
  else assertMatch(printed, patternOf(block.text), block.at);
}

/** Compares what was printed from its first brace or bracket on; `"…"` stands for any text. */
function assertJson(printed: string, { text, at }: Block): void {
  const actual: unknown = JSON.parse(printed.slice(printed.search(/^[[{]/m)));
  const expected: unknown = JSON.parse(text);
  assertEquals(withEllipses(actual, expected), expected, at);
}

function withEllipses(actual: unknown, expected: unknown): unknown {
  if (expected === "…") return typeof actual === "string" ? "…" : actual;
  if (!isObject(actual) || !isObject(expected)) return actual;
  if (Array.isArray(actual)) {
    return actual.map((value, index) => withEllipses(value, expected[index]));
  }
  return Object.fromEntries(
    Object.entries(actual).map(([name, value]) => [name, withEllipses(value, expected[name])]),
  );
}

function isObject(value: unknown): value is Record<string | number, unknown> {
  return typeof value === "object" && value !== null;
}

/** Matches what ends with a text in which `…` stands for anything; blanks are all alike. */
function patternOf(text: string): RegExp {
  const parts = text.trim().split("…").map((part) =>
    RegExp.escape(part).replaceAll(/(?:\\x20|\\n|\s)+/g, "\\s+")
  );
  return new RegExp(`${parts.join("[^]*?")}\\s*$`);
}
