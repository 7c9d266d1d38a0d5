/**
 * Runs as the API shows them.
 *
 * @module
 */
import type { Run } from "../../store/records/runs.ts";
import type { Store } from "../../store/store.ts";
import { type Origin, withOrigin } from "./origins.ts";
import type { TriggerLabels } from "./trigger_labels.ts";
import { type RunWorkState, withStates, type WorkStates } from "./work_states.ts";

/** A run as the API shows it. */
export type ShownRun = Omit<Run, "launched_by"> & Origin & WorkStates & RunWorkState;

/** Returns a run with its origin and the states of what it has launched. */
export async function shownRun(store: Store, labels: TriggerLabels, run: Run): Promise<ShownRun> {
  return await withStates(store, await withOrigin(labels, run));
}
