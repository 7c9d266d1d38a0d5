/**
 * Storing the records of executions while they run.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { delay } from "@std/async/delay";
import { UnavailableError } from "../../platform/errors.ts";
import {
  type Execution,
  executionWrites,
  getExecution,
  hasEnded,
} from "../../store/records/executions.ts";
import { asUnavailable } from "../../store/commit/committer.ts";
import { executionEndWrites } from "../../store/records/notices.ts";
import type { Store } from "../../store/store.ts";

const RETRY_MS = 1_000;

const log = getLogger(["hooklaunch", "engine"]);

interface SaverOptions {
  store: Store;
  /**
   * Stores a record. Default: as the leader does.
   *
   * @returns false when it is not to be stored any more
   */
  commit?: (execution: Execution) => Promise<boolean>;
  /** Called after each change of a record is stored. */
  onChange?: ((execution: Execution) => void) | undefined;
  /** Aborted when the service stops. */
  signal: AbortSignal;
}

/** Returns a function that stores a record as it is; see {@linkcode SaveExecution}. */
export function executionSaver(
  { store, commit = commitTo(store), onChange, signal }: SaverOptions,
): SaveExecution {
  return async (execution) => {
    const { status } = execution;
    for (let hasFailed = false;; hasFailed = true) {
      try {
        const isStored = hasFailed && hasEnded(status) && await isEndStored(store, execution);
        if (!isStored && !await commit(execution)) return false;
        // A status that was set during the commit is reported by the save that stores it.
        if (execution.status === status) onChange?.(execution);
        return true;
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error;
        const { id: execution_id, run_id, project } = execution;
        const details = { execution_id, run_id, project, error: error.message };
        log.error("Cannot store execution {execution_id}, trying again: {error}", details);
      }
      await delay(RETRY_MS, { signal }).catch(() => {});
      if (signal.aborted) return false;
    }
  };
}

/**
 * Stores a record. Tries again for as long as the database is unavailable.
 *
 * @returns false when the service stops before the record is stored, or it is not to be stored any more
 */
export type SaveExecution = (execution: Execution) => Promise<boolean>;

/**
 * Tells whether the end of an attempt is stored, though its commit has failed. To store it again would make the
 * next attempt again, which may have begun.
 */
async function isEndStored(store: Store, { id, attempt_of }: Execution): Promise<boolean> {
  if (attempt_of === undefined) return false;
  try {
    return hasEnded((await getExecution(store, id))?.status ?? "queued");
  } catch (error) {
    throw asUnavailable(error);
  }
}

function commitTo(store: Store): NonNullable<SaverOptions["commit"]> {
  return async (execution) => {
    // As it is when the commit is put together.
    await store.committer.commit({
      writes: () => [...executionWrites(execution), ...executionEndWrites(store, execution)],
    });
    return true;
  };
}
