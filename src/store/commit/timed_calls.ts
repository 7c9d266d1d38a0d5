/**
 * Calls to a remote database that may never be answered: nobody notices a connection that breaks without a word, as
 * when a machine on its way loses power, and Deno waits for ever. Such a call is given up, and whoever made it makes
 * it again, on another connection.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import { UnavailableError } from "../../platform/errors.ts";
import { within } from "../../platform/waiting/timers.ts";

/** The time within which a call is answered. The next one then comes before an instance counts as gone. */
const ANSWER_MS = 10_000;
/** The most calls that are given up and not answered: while the database is away, each of them is sent on and on. */
const LEFT_MAX = 8;

/** After this many times the limit of an answer, a call that was given up counts no more: it waits for ever. */
const FORGOTTEN = 60;

/** Makes calls that end. */
export class TimedCalls {
  readonly #clock: Clock;
  readonly #answer_ms: number;
  readonly #signal: AbortSignal | undefined;
  /** The calls that were given up, and when they began. */
  readonly #left = new Map<Promise<void>, number>();

  /** @param signal aborted when no call is given up any more: a timer would keep the process */
  constructor(clock: Clock, answer_ms: number = ANSWER_MS, signal?: AbortSignal) {
    this.#clock = clock;
    this.#answer_ms = answer_ms;
    this.#signal = signal;
  }

  /**
   * Makes a call.
   *
   * @throws {UnavailableError} when it is not answered in time. It may be answered, and take effect, later
   */
  async call<T>(start: () => Promise<T>): Promise<T> {
    if (this.#signal?.aborted) return await start();
    const began_ms = this.#clock.steady();
    for (const [left, left_ms] of this.#left) {
      if (began_ms - left_ms >= FORGOTTEN * this.#answer_ms) this.#left.delete(left);
    }
    if (this.#left.size >= LEFT_MAX) {
      await this.#inTime(Promise.race(this.#left.keys()));
      if (this.#left.size >= LEFT_MAX) throw this.#unanswered();
    }
    const answer = start();
    const ended = await this.#inTime(answer.then((value) => ({ value })));
    if (ended) return ended.value;
    if (this.#signal?.aborted) return await answer;
    const forget = () => void this.#left.delete(left);
    const left: Promise<void> = answer.then(forget, forget);
    this.#left.set(left, began_ms);
    throw this.#unanswered();
  }

  #inTime<T>(promise: Promise<T>): Promise<T | undefined> {
    return within(this.#clock, this.#answer_ms, promise, this.#signal);
  }

  #unanswered(): UnavailableError {
    return new UnavailableError(
      `The database has not answered for ${this.#answer_ms / 1_000} s`,
      1,
    );
  }
}
