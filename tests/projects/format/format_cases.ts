/**
 * A table of texts in the project configuration file's format, each with what is said of it.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { InvalidInputError } from "../../../src/platform/errors.ts";
import { readConfigFile } from "../../../src/projects/format/config_file.ts";
import type { LocatedProblem } from "../../../src/platform/yaml/positions.ts";

/** Where something is said, and a piece of what is said. */
export type Said = [pointer: string, piece: string];

/** A text and its verdict: accepted without a word, unless it says otherwise. */
export interface FormatCase {
  /** The case's number in the format's list of cases, and what it shows. */
  name: string;
  text: string;
  /** It is accepted with exactly these warnings, in the order of the text. */
  warnings?: Said[];
  /** It is refused for exactly these reasons, in the order of the text. */
  problems?: Said[];
}

/** Makes a test of each case. */
export function testCases(cases: readonly FormatCase[]): void {
  for (const { name, text, warnings = [], problems = [] } of cases) {
    Deno.test(`format: ${name}`, () => {
      const said = read(text);
      assertSaid(said.problems, problems, text);
      assertSaid(said.warnings, problems.length > 0 ? [] : warnings, text);
    });
  }
}

function read(text: string): Record<"problems" | "warnings", LocatedProblem[]> {
  try {
    return { problems: [], warnings: readConfigFile(text, "valohai.yaml").warnings };
  } catch (error) {
    assertInstanceOf(error, InvalidInputError, String(error));
    // Those of a file have places.
    return { problems: [...error.problems] as LocatedProblem[], warnings: [] };
  }
}

function assertSaid(found: readonly LocatedProblem[], expected: readonly Said[], text: string) {
  assertEquals(
    found.map(({ pointer }) => pointer),
    expected.map(([pointer]) => pointer),
    found.map(({ detail }) => detail).join("\n"),
  );
  const lines = text.split("\n");
  for (const [index, { detail, line, column }] of found.entries()) {
    assertStringIncludes(detail, expected[index]?.[1] ?? "nothing more");
    assertMatch(detail, new RegExp(`^line ${line}, column ${column}: [A-Z]`));
    assert(column <= (lines[line - 1] ?? "").length + 1, detail);
  }
}

/** A step that does nothing, with more fields in the flow style of YAML. */
export function stepOf(name: string, fields = ""): string {
  return `- step: { name: ${name}, image: busybox, command: date${fields && `, ${fields}`} }\n`;
}

/** A pipeline of nodes, edges and more fields, each given in YAML's flow style. */
export function pipelineOf(nodes: string[], edges: string[] = [], fields = ""): string {
  const list = (items: string[]) =>
    items.length === 0 ? " []\n" : `\n${items.map((item) => `      - ${item}\n`).join("")}`;
  return `- pipeline:\n    name: p\n    nodes:${list(nodes)}    edges:${list(edges)}${
    fields && `    ${fields}\n`
  }`;
}

/** An execution node, with more fields in the flow style of YAML. */
export function nodeOf(name: string, step = "s", fields = ""): string {
  return `{ name: ${name}, type: execution, step: ${step}${fields && `, ${fields}`} }`;
}
