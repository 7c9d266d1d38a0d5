/**
 * The turn of a run, in one line.
 *
 * @module
 */
import type { Waiting } from "../../runs/pace/waiting.ts";

/** Describes what a run waits for. */
export function turnText(waiting: Waiting): string {
  if (waiting.for === "delay") return `until ${waiting.until}`;
  const key = waiting.key === "" ? "" : ` of key ${JSON.stringify(waiting.key)}`;
  if (waiting.for === "burst") return `for more runs${key}, until ${waiting.until}`;
  const { place, limit, behind } = waiting;
  return `for one of ${limit} places${key}, as number ${place}, behind ${behind.join(", ")}`;
}
