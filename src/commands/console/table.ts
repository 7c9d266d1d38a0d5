/**
 * Printing records: as tables for people, or as JSON for machines.
 *
 * @module
 */

const CELL_LENGTH_MAX = 120;
/** Characters of two columns. */
const WIDE =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\u3000-\u303f\uff01-\uff60]/gu;

/** A column: its heading, and its text for an element. */
export type Column<T> = readonly [heading: string, show: (element: T) => unknown];

/** Prints elements, one a line under headings; as a JSON array when `json` is set. */
export function printList<T>(
  elements: readonly T[],
  columns: readonly Column<T>[],
  { json = false }: { json?: boolean } = {},
): void {
  if (json) return printJson(elements);
  printRows([
    columns.map(([heading]) => heading.toUpperCase()),
    ...elements.map((element) => columns.map(([, show]) => cell(show(element)))),
  ]);
}

/** Prints the ids of elements, or the names of those that have no id, one a line. */
export function printIds(elements: readonly ({ id: string } | { name: string })[]): void {
  for (const each of elements) console.log(harmless("id" in each ? each.id : each.name));
}

/** Prints a record, one field a line. Absent fields are left out. */
export function printFields(fields: Readonly<Record<string, unknown>>): void {
  const there = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  printRows(there.map(([name, value]) => [harmless(name), harmless(String(value))]));
}

/** Prints a value as JSON. */
export function printJson(value: unknown): void {
  console.log(harmlessJson(JSON.stringify(value, null, 2)));
}

/**
 * Escapes the characters in JSON that move the cursor or change the direction of text: JSON itself escapes
 * only the lower control characters.
 */
export function harmlessJson(json: string): string {
  return json.replace(
    /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Makes text one harmless line: text of a sender or a step must not move the cursor or end the line. */
export function harmless(text: string): string {
  // Control characters, and those that change the direction of text (Unicode UAX 9, section 2).
  // deno-lint-ignore no-control-regex
  return text.replace(/[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g, " ");
}

/** Formats a row of a table that is printed row by row. */
export function rowText(values: readonly unknown[], widths: readonly number[]): string {
  return values.map((value, index) => padded(cell(value), widths[index])).join("  ").trimEnd();
}

function printRows(rows: readonly (readonly string[])[]): void {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, text] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, widthOf(text));
    }
  }
  for (const row of rows) {
    console.log(row.map((text, index) => padded(text, widths[index])).join("  ").trimEnd());
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
  return text.length > CELL_LENGTH_MAX ? `${text.slice(0, CELL_LENGTH_MAX - 1)}…` : text;
}
