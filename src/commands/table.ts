/**
 * Printing lists: as a table for people, or as JSON for machines.
 *
 * @module
 */

const CELL_LENGTH_MAX = 120;

/** A column: its heading and what it shows of an element. */
export type Column<T> = readonly [heading: string, show: (element: T) => unknown];

/** Prints elements, one a line under headings; as a JSON array when `json` is set. */
export function printList<T>(
  elements: readonly T[],
  columns: readonly Column<T>[],
  { json = false }: { json?: boolean },
): void {
  if (json) {
    console.log(JSON.stringify(elements, null, 2));
    return;
  }
  const rows = [
    columns.map(([heading]) => heading.toUpperCase()),
    ...elements.map((element) => columns.map(([, show]) => cell(show(element)))),
  ];
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  for (const row of rows) {
    console.log(row.map((text, index) => text.padEnd(widths[index] ?? 0)).join("  ").trimEnd());
  }
}

function cell(value: unknown): string {
  const text = value === undefined || value === null ? "" : String(value);
  // What came from a sender must not move the cursor or end the line.
  // deno-lint-ignore no-control-regex
  const harmless = text.replace(/[\x00-\x1f\x7f-\x9f]+/g, " ");
  return harmless.length > CELL_LENGTH_MAX
    ? `${harmless.slice(0, CELL_LENGTH_MAX - 1)}…`
    : harmless;
}
