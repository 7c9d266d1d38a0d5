/**
 * Storing the ends of runs.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/clock.ts";
import { messageOf, UnavailableError } from "../platform/errors.ts";
import { pause } from "../platform/waiting/timers.ts";
import type { Write } from "../store/commit/change.ts";
import { runEndWrites } from "../store/records/notices.ts";
import { damagedRun, endWrites, type PendingEntry, type Run } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";
import { storeEnd } from "./own_runs.ts";
import { type Performed, statusOf, type WaitingRun, withLastFailed } from "./outcome.ts";

const RETRY_MS = 1_000;

const log = getLogger(["hooklaunch", "runs"]);

/** Stores how runs have ended. */
export class RunEnds {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;

  constructor({ store, clock, signal }: { store: Store; clock: Clock; signal: AbortSignal }) {
    this.#store = store;
    this.#clock = clock;
    this.#signal = signal;
  }

  /**
   * Stores the end of a run with what its last action has made, and begins that work.
   *
   * @returns the run as it has ended; undefined when the signal aborted before that was stored
   */
  async store(waiting: WaitingRun, { outcomes, unstored }: Performed): Promise<Run | undefined> {
    const { run, body } = waiting;
    const ended = this.#ended({ ...run, status: statusOf(outcomes), actions: outcomes });
    const writes = [...unstored?.writes ?? [], ...endWrites(ended, body)];
    for (;;) {
      const failure = await this.#write(ended, writes, waiting);
      if (failure === undefined) break;
      if (unstored && !(failure.error instanceof UnavailableError)) {
        return await this.store(waiting, { outcomes: withLastFailed(outcomes, failure.error) });
      }
      await pause(this.#clock, RETRY_MS, this.#signal);
      if (this.#signal.aborted) return undefined;
    }
    unstored?.begin();
    return ended;
  }

  /**
   * Stores the end of a run whose record is damaged, so that its actions are not known.
   *
   * @returns the run as it has ended; undefined where that could not be stored
   */
  async storeDamaged({ id, triggerId, removal }: PendingEntry): Promise<Run | undefined> {
    const run = this.#ended(await damagedRun(this.#store, id, triggerId));
    const failure = await this.#write(run, [...endWrites(run), removal]);
    return failure === undefined ? run : undefined;
  }

  #ended(run: Run): Run {
    return { ...run, ended_at: new Date(this.#clock.now()).toISOString() };
  }

  /** @returns why it could not be stored; undefined when it is */
  async #write(
    run: Run,
    writes: readonly Write[],
    waiting?: WaitingRun,
  ): Promise<{ error: unknown } | undefined> {
    try {
      const told = () => runEndWrites(this.#store, run);
      await storeEnd(this.#store, waiting, { writes, told });
      return undefined;
    } catch (error) {
      const what = "Cannot store the end of run {run_id}, trying again: {error}";
      log.error(what, { run_id: run.id, error: messageOf(error) });
      return { error };
    }
  }
}
