/**
 * The outcome of a run's actions: its type, and the status that a run ends with.
 *
 * @module
 */
import { messageOf } from "../platform/errors.ts";
import type { Write } from "../store/commit/change.ts";
import type { ActionOutcome, PendingRun, RunStatus } from "../store/records/runs.ts";

/** A run that waits to be performed. */
export interface WaitingRun extends PendingRun {
  /** True when an earlier worker may have begun its actions. */
  repeated: boolean;
}

/** Something that an action has made and that is not stored yet. */
export interface Unstored {
  /** The writes that store it. */
  writes: readonly Write[];
  /** Begins its work; called once it is on disk. */
  begin(): void;
}

/** The outcomes of the actions of a run. */
export interface Performed {
  /** In their order. */
  outcomes: ActionOutcome[];
  /** The object that the last of them has made: one commit stores it and the end of the run. */
  unstored?: Unstored;
  /** Set when one of them failed for lack of files or processes, and may succeed a moment later. */
  isShort?: boolean;
}

/** Performs the actions of a run. */
export type Perform = (waiting: WaitingRun, signal: AbortSignal) => Promise<Performed>;

/** Returns the status that a run ends with. Skipped actions are ignored. */
export function statusOf(actions: readonly ActionOutcome[]): RunStatus {
  const failed = actions.filter(({ error }) => error !== undefined).length;
  if (failed === 0) return "completed";
  const skipped = actions.filter((outcome) => outcome.skipped !== undefined).length;
  return failed === actions.length - skipped ? "error" : "complete_with_error";
}

/** Returns the outcomes with an error for the last action, whose object cannot be stored. */
export function withLastFailed(
  outcomes: readonly ActionOutcome[],
  error: unknown,
): ActionOutcome[] {
  const { action } = outcomes.at(-1) ?? { action: "none" };
  return [...outcomes.slice(0, -1), { action, error: messageOf(error) }];
}
