/**
 * Attempts that wait for their time: each begins then, once.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/clock.ts";
import { messageOf } from "../platform/errors.ts";
import { Alarms } from "../platform/waiting/alarms.ts";
import { InTurn } from "../platform/waiting/in_turn.ts";
import { every } from "../platform/waiting/timers.ts";
import { nextAttempt, waitingAttempts } from "../store/records/attempts.ts";
import { type Execution, executionWrites, getExecution } from "../store/records/executions.ts";
import { keys } from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import { stopped, writeEnd } from "./shared/execution_end.ts";

/** The interval at which the database is asked for attempts whose end was stored, and not told. */
const SWEEP_MS = 60_000;
/** The pause after an attempt that could not be begun. */
const TROUBLE_MS = 1_000;

const log = getLogger(["hooklaunch", "engine"]);

/** The parts of {@linkcode Retries}. */
interface RetriesParts {
  store: Store;
  clock: Clock;
  /** Submits an attempt to its engine. Submitting it again changes nothing. */
  submit(attempt: Execution): void;
  /** Called after each change of a record is stored. */
  onChange(attempt: Execution): void;
}

/** Begins attempts at their times. */
export class Retries {
  readonly #parts: RetriesParts;
  readonly #alarms: Alarms;
  readonly #turns = new InTurn();
  #endSweeps = () => {};
  #isClosed = false;

  constructor(parts: RetriesParts) {
    this.#parts = parts;
    this.#alarms = new Alarms(parts.clock, (attemptId) => this.#due(attemptId));
  }

  /** Goes on with the attempts that an earlier process has left. */
  async start(): Promise<void> {
    await this.#sweep();
    if (this.#isClosed) return;
    this.#endSweeps = every(this.#parts.clock, SWEEP_MS, () => {
      this.#sweep().catch((error) => {
        log.error("Cannot look for attempts that are due, trying again: {error}", {
          error: messageOf(error),
        });
      });
    });
  }

  /** Notes a change of an execution: the attempt behind one that has ended waits for its time. */
  changed(execution: Execution): void {
    const next = nextAttempt(execution);
    if (next?.retry_at === undefined) return;
    const { attempt_of: execution_id, run_id, project, reason } = execution;
    log.info("Execution {execution_id} has failed: {reason}. {waiting}", {
      ...{ execution_id, run_id, project, reason },
      waiting: next.waiting,
    });
    this.#wait(next.id, Date.parse(next.retry_at));
  }

  /**
   * Ends an attempt that waits for its time. Resolves when that is on disk.
   *
   * @returns false when it does not wait
   */
  stop(attemptId: string, reason?: string): Promise<boolean> {
    return this.#turns.run(attemptId, async () => {
      const { store, clock, onChange } = this.#parts;
      const attempt = await getExecution(store, attemptId);
      if (attempt?.status !== "created") return false;
      const { retry_at: _at, ...ended } = attempt;
      writeEnd(ended, { ending: stopped(reason), at_ms: clock.now() });
      await store.committer.write([...executionWrites(ended), waitsNoMore(attemptId)]);
      this.#alarms.cancel(attemptId);
      onChange(ended);
      return true;
    });
  }

  /** Begins nothing more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#endSweeps();
    this.#alarms.close();
    await this.#turns.settled();
  }

  async #sweep(): Promise<void> {
    for (const { id, at_ms } of await waitingAttempts(this.#parts.store)) this.#wait(id, at_ms);
  }

  #wait(attemptId: string, at_ms: number): void {
    if (!this.#isClosed) this.#alarms.set(attemptId, at_ms);
  }

  #due(attemptId: string): void {
    this.#turns.run(attemptId, () => this.#begin(attemptId)).catch((error) => {
      log.error("Cannot begin attempt {attempt_id}, trying again: {error}", {
        attempt_id: attemptId,
        error: messageOf(error),
      });
      this.#wait(attemptId, this.#parts.clock.now() + TROUBLE_MS);
    });
  }

  async #begin(attemptId: string): Promise<void> {
    const { store, submit, onChange } = this.#parts;
    if (this.#isClosed) return;
    const attempt = await getExecution(store, attemptId);
    // It may be stored that it begins, though that was not known.
    if (attempt?.status === "queued") return submit(attempt);
    if (attempt?.status !== "created") {
      return await store.committer.write([waitsNoMore(attemptId)]);
    }
    const { retry_at: _at, waiting: _waiting, ...planned } = attempt;
    const queued: Execution = { ...planned, status: "queued" };
    await store.committer.write([...executionWrites(queued), waitsNoMore(attemptId)]);
    submit(queued);
    onChange(queued);
  }
}

function waitsNoMore(attemptId: string) {
  return { key: keys.executionRetry(attemptId) };
}
