/**
 * The processes that commands leave running. Their wrappers end their own process groups. A process that moved to
 * another group of the session is found by looking through the machine's processes, which is done
 * for many sessions at once.
 *
 * @module
 */
import { killLeft, killSessions } from "./processes.ts";

/**
 * The time for which ended sessions are gathered. A look takes as much of a processor as a short command, about 10 ms
 * with 160 processes: at 5 executions a second, one each 200 ms was an eighth of what an execution took.
 */
const DELAY_MS = 1_000;

/** Sessions whose leaders have ended. */
export class OrphanProcesses {
  #sessions: number[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #killing: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** Adds a session. What is left of it is killed soon. */
  add(session: number): void {
    this.#sessions.push(session);
    this.#timer ??= setTimeout(() => this.#kill(), DELAY_MS);
  }

  /**
   * Kills what an earlier service had gathered when it was killed. Returns at once.
   *
   * @param root the folder of all executions
   */
  takeOver(root: string): void {
    if (this.#isClosed) return;
    this.#killing = this.#killing.then(() => killLeft(root)).catch(() => {});
  }

  /** Kills what is left now. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== undefined) this.#kill();
    await this.#killing;
  }

  #kill(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const sessions = this.#sessions;
    this.#sessions = [];
    // That something cannot be killed is no reason to stop.
    this.#killing = this.#killing.then(() => killSessions(sessions)).catch(() => {});
  }
}
