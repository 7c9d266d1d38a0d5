/**
 * Work that follows the end of a run and of what it has launched, such as the callback of its sender, or the status of
 * its commit. The commit that ends the actions lists the run, so that a restart goes on.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../platform/errors.ts";

const log = getLogger(["hooklaunch", "runs"]);

/** The parts that {@linkcode AfterWork} uses. */
interface AfterWorkParts {
  /** Names what is made, for the log. */
  what: string;
  /** Lists the runs that are due, from the database. */
  due(): Promise<string[]>;
  /** Makes what can be made of a run by now. Returns false while more is to come. */
  make(runId: string): Promise<boolean>;
}

/** Makes something of runs whose work has ended. */
export class AfterWork {
  readonly #parts: AfterWorkParts;
  /** The runs that are looked at; a second look follows where something has ended meanwhile. */
  readonly #looks = new Map<string, { isAgain: boolean; over: Promise<void> }>();
  /** The runs whose work has not ended. */
  readonly #waiting = new Set<string>();
  #isStarted = false;
  #isClosing = false;

  constructor(parts: AfterWorkParts) {
    this.#parts = parts;
  }

  /** Goes on with what an earlier process has left. */
  async start(): Promise<void> {
    this.#isStarted = true;
    await this.sweep();
  }

  /** Looks at all runs that are due. Call it each minute: another instance may have ended their work. */
  async sweep(): Promise<void> {
    if (!this.#isStarted) return;
    for (const runId of await this.#parts.due()) this.look(runId);
  }

  /** Tells that something that a run has launched has ended, which is on disk. */
  workEnded(runId: string): void {
    if (this.#waiting.has(runId) || this.#looks.has(runId)) this.look(runId);
  }

  /** Looks at a run whose actions have ended, which is on disk. Returns at once. */
  look(runId: string): void {
    if (this.#isClosing) return;
    const known = this.#looks.get(runId);
    if (known) return void (known.isAgain = true);
    const look = { isAgain: true, over: Promise.resolve() };
    this.#looks.set(runId, look);
    this.#waiting.add(runId);
    look.over = this.#make(runId, look).catch((error) =>
      log.error("Cannot make {what} of run {run_id}, trying again within a minute: {error}", {
        what: this.#parts.what,
        run_id: runId,
        error: messageOf(error),
      })
    );
  }

  /** Begins nothing more, and waits for what is under way. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#looks.values()].map(({ over }) => over));
  }

  async #make(runId: string, look: { isAgain: boolean }): Promise<void> {
    try {
      while (look.isAgain && !this.#isClosing) {
        look.isAgain = false;
        if (await this.#parts.make(runId)) this.#waiting.delete(runId);
      }
    } finally {
      // At once: a look that is asked for from now on begins anew.
      this.#looks.delete(runId);
    }
  }
}
