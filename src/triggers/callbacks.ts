/**
 * Callbacks: each tells a sender that its run and the run's work have ended. The commit that ends a run lists it, so
 * that a restart goes on. Nothing of it is loaded before the first one.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../platform/errors.ts";
import { dueCallbacks } from "../store/records/callbacks.ts";
import type { NewCallbackParts } from "./new_callback.ts";

const log = getLogger(["hooklaunch", "callbacks"]);

/** Makes the callbacks of runs. */
export class Callbacks {
  readonly #parts: () => NewCallbackParts;
  /** The runs that are looked at; a second look follows where something has ended meanwhile. */
  readonly #looks = new Map<string, { isAgain: boolean; over: Promise<void> }>();
  /** The runs that have a callback to come, whose work has not ended. */
  readonly #waiting = new Set<string>();
  #isStarted = false;
  #isClosing = false;

  constructor(parts: () => NewCallbackParts) {
    this.#parts = parts;
  }

  /** Goes on with what an earlier process has left. */
  async start(): Promise<void> {
    this.#isStarted = true;
    await this.sweep();
  }

  /** Looks at all runs whose callbacks are due. Call it each minute: another instance may have ended their work. */
  async sweep(): Promise<void> {
    if (!this.#isStarted) return;
    for (const runId of await dueCallbacks(this.#parts().store)) this.#look(runId);
  }

  /** Tells that a run has ended, which is on disk. */
  runEnded({ id, callback }: { id: string; callback?: true }): void {
    if (callback) this.#look(id);
  }

  /** Tells that something that a run has launched has ended, which is on disk. */
  workEnded(runId: string): void {
    if (this.#waiting.has(runId) || this.#looks.has(runId)) this.#look(runId);
  }

  /** Begins nothing more, and waits for what is under way. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#looks.values()].map(({ over }) => over));
  }

  #look(runId: string): void {
    if (this.#isClosing) return;
    const known = this.#looks.get(runId);
    if (known) return void (known.isAgain = true);
    const look = { isAgain: true, over: Promise.resolve() };
    this.#looks.set(runId, look);
    this.#waiting.add(runId);
    look.over = this.#make(runId, look).catch((error) =>
      log.error("Cannot make the callback of run {run_id}, trying again within a minute: {error}", {
        run_id: runId,
        error: messageOf(error),
      })
    ).finally(() => this.#looks.delete(runId));
  }

  async #make(runId: string, look: { isAgain: boolean }): Promise<void> {
    const { makeCallback } = await import("./new_callback.ts");
    while (look.isAgain && !this.#isClosing) {
      look.isAgain = false;
      if (await makeCallback(runId, this.#parts())) this.#waiting.delete(runId);
    }
  }
}
