/**
 * Runs as the API shows them.
 *
 * @module
 */
import type { Run } from "../../store/records/runs.ts";
import type { Operator } from "./operator.ts";
import { type Origin, withOrigin } from "./origins.ts";
import type { TriggerLabels } from "./trigger_labels.ts";
import { type RunTurn, type RunWorkState, withStates, type WorkStates } from "./work_states.ts";

/** A run as the API shows it. */
export type ShownRun = Omit<Run, "launched_by"> & Origin & WorkStates & RunWorkState & RunTurn;

/** Returns a run with its origin, the states of what it has launched, and what it waits for. */
export async function shownRun(
  parts: Pick<Operator, "store" | "worker" | "clock">,
  labels: TriggerLabels,
  run: Run,
): Promise<ShownRun> {
  return await withStates(parts, await withOrigin(labels, run));
}
