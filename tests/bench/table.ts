/**
 * The rows of the benchmark's table: a figure, the floor it is held against, and what was aimed at.
 *
 * @module
 */

/** One row of the table. */
export interface Row {
  what: string;
  value: number;
  unit: string;
  /** What the figure is held against, and what that is; absent where the aim is a number by itself. */
  floor?: number;
  floor_what?: string;
  /** The figure by its floor. */
  ratio?: number;
  aim: string;
  met: boolean;
  detail?: string;
}

/** A figure and its floor. */
export type Held =
  & Pick<Row, "what" | "value" | "unit" | "detail">
  & Required<Pick<Row, "floor" | "floor_what">>;

/** A row whose figure should reach this share of its floor. */
export function atLeast(share: number, held: Held): Row {
  const ratio = held.value / held.floor;
  return { ...held, ratio, aim: `≥ ${share.toFixed(2)}`, met: ratio >= share };
}

/** A row whose figure should not be more than so many times its floor. */
export function atMost(times: number, held: Held): Row {
  const ratio = held.value / held.floor;
  return { ...held, ratio, aim: `≤ ${times.toFixed(2)}`, met: ratio <= times };
}

/** A row whose figure should not be more than so much over its floor, in its own unit. */
export function atMostOver(over: number, held: Held): Row {
  const found = held.value - held.floor;
  return {
    ...held,
    aim: `≤ ${over} ${held.unit} over`,
    met: found <= over,
    detail: [`${found.toFixed(1)} ${held.unit} over`, held.detail ?? ""].filter(Boolean).join("; "),
  };
}

/** A row whose figure should be below a number. */
export function below(most: number, row: Pick<Row, "what" | "value" | "unit" | "detail">): Row {
  return { ...row, aim: `< ${most} ${row.unit}`, met: row.value < most };
}

/** A row without an aim. */
export function told(row: Pick<Row, "what" | "value" | "unit" | "detail">): Row {
  return { ...row, aim: "", met: true };
}

/** A row as lines of the table. */
export function rowText({ what, value, unit, floor, floor_what, ratio, aim, met, detail }: Row) {
  const line = [
    what.padEnd(60),
    figure(value, unit).padStart(13),
    (floor === undefined ? "" : figure(floor, unit)).padStart(13),
    (ratio === undefined ? "" : ratio.toFixed(2)).padStart(6),
    aim.padStart(14),
    met ? "" : " MISSED",
  ].join("").trimEnd();
  const against = floor_what === undefined ? [] : [`against ${floor_what}`];
  const notes = [...against, ...(detail === undefined ? [] : [detail])].join("; ");
  return notes === "" ? line : `${line}\n    ${notes}`;
}

/** The table's first line. */
export const HEADING = "what".padEnd(60) + "measured".padStart(13) + "floor".padStart(13) +
  "ratio".padStart(6) + "aim".padStart(14);

function figure(value: number, unit: string): string {
  const digits = value >= 100 ? 0 : 1;
  const text = value.toLocaleString("en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return `${text} ${unit}`;
}
