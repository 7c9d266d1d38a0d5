/**
 * Printing records: as tables for people, or as JSON for machines.
 *
 * @module
 */

import { coloured, emphasised, takesColours } from "./colours.ts";
import { dataText, showsAllColumns } from "./format.ts";

const CELL_LENGTH_MAX = 120;
/** Characters of two columns. */
const WIDE =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\u3000-\u303f\uff01-\uff60]/gu;

/** A column: its heading, its text for an element, and `wide` where only `-o wide` shows it. */
export type Column<T> = readonly [heading: string, show: (element: T) => unknown, when?: "wide"];

/** Prints elements, one a line under headings; as JSON or YAML when `json` is set. */
export function printList<T>(
  elements: readonly T[],
  columns: readonly Column<T>[],
  { json = false }: { json?: boolean } = {},
): void {
  if (json) return printJson(elements);
  const shown = visibleColumns(columns);
  const rows = elements.map((element) => shown.map(([, show]) => cell(show(element))));
  const headings = shown.map(([heading]) => heading);
  const isColoured = takesColours();
  printRows([headings.map((heading) => heading.toUpperCase()), ...rows], (text, row, column) => {
    if (!isColoured) return text;
    return row === 0 ? emphasised(text) : coloured(headings[column] ?? "", text);
  });
}

/** Returns the columns that are shown. */
export function visibleColumns<T>(columns: readonly Column<T>[]): readonly Column<T>[] {
  return columns.filter(([, , when]) => when === undefined || showsAllColumns());
}

/** Prints the ids of elements, or the names of those that have no id, one a line. */
export function printIds(elements: readonly ({ id: string } | { name: string })[]): void {
  for (const each of elements) console.log(harmless("id" in each ? each.id : each.name));
}

/** Prints a record, one field a line. Absent fields are left out. */
export function printFields(fields: Readonly<Record<string, unknown>>): void {
  const there = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  const rows = there.map(([name, value]) => [
    harmless(name),
    harmless(typeof value === "object" ? JSON.stringify(value) : String(value)),
  ]);
  const isColoured = takesColours();
  printRows(
    rows,
    (text, row, column) => isColoured && column === 1 ? coloured(rows[row]?.[0] ?? "", text) : text,
  );
}

/** Prints a value as JSON, or as YAML where `-o yaml` asks for it. */
export function printJson(value: unknown): void {
  console.log(dataText(value));
}

/** Makes text one harmless line: text of a sender or a step must not move the cursor or end the line. */
export function harmless(text: string): string {
  // Control characters, and those that change the direction of text (Unicode UAX 9, section 2).
  // deno-lint-ignore no-control-regex
  return text.replace(/[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g, " ");
}

/** Formats a row of a table that is printed row by row; without an element, its headings. */
export function rowText<T>(
  columns: readonly Column<T>[],
  widths: readonly number[],
  element?: T,
): string {
  const isColoured = takesColours();
  return columns.map(([heading, show], index) => {
    if (element === undefined) {
      const text = padded(heading.toUpperCase(), widths[index]);
      return isColoured ? emphasised(text) : text;
    }
    const text = padded(cell(show(element)), widths[index]);
    return isColoured ? coloured(heading, text) : text;
  }).join("  ").trimEnd();
}

/** @param paint gives a padded cell its colour */
function printRows(
  rows: readonly (readonly string[])[],
  paint: (text: string, row: number, column: number) => string,
): void {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, text] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, widthOf(text));
    }
  }
  for (const [row, texts] of rows.entries()) {
    const line = texts.map((text, column) => paint(padded(text, widths[column]), row, column));
    console.log(line.join("  ").trimEnd());
  }
}

function padded(text: string, width = 0): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

/** Returns the number of columns that a terminal shows a text in. */
function widthOf(text: string): number {
  const letters = text.replaceAll(/\p{M}/gu, "");
  return Array.from(letters).length + (letters.match(WIDE)?.length ?? 0);
}

function cell(value: unknown): string {
  const text = value === undefined || value === null ? "" : harmless(String(value));
  return text.length > CELL_LENGTH_MAX && !showsAllColumns()
    ? `${text.slice(0, CELL_LENGTH_MAX - 1)}…`
    : text;
}
