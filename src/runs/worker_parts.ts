/**
 * The parts of a service that the worker needs.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import type { PaceLimit } from "../store/records/pace.ts";
import type { PendingRun, Run } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";
import type { Perform } from "./outcome.ts";

/** The parts of a service that the worker needs, and its limits. */
export interface WorkerParts {
  store: Store;
  clock: Clock;
  perform: Perform;
  /** Runs that are performed at a time. */
  concurrency?: number;
  /** Limit of the runs that wait in memory; the others wait in the database alone. */
  heldMax?: number;
  /** Limit of the accepted runs that have not ended. */
  backlogMax?: number;
  /** Lower limits of runs that wait for their turn. */
  paceLimits?: Partial<Record<PaceLimit, number>> | undefined;
  /** Called for each launch that finds no room among them. */
  onPaceFull?(limit: PaceLimit): void;
  /**
   * Returns true for a run that this instance can perform itself. It does so where several share the database, and
   * otherwise the leader does. Default: the leader performs all.
   */
  canPerform?(of: Pick<PendingRun, "run" | "actions">): boolean;
  /** False to hand over no run in memory. Tests use it: messages alone wake the worker then. */
  handsOver?: boolean;
  /** Called for each run that has ended, once that is on disk. */
  onEnd?(run: Run): void;
}
