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

/** Makes calls that end. */
export class TimedCalls {
  readonly #clock: Clock;
  readonly #answer_ms: number;
  readonly #left = new Set<Promise<void>>();

  constructor(clock: Clock, answer_ms: number = ANSWER_MS) {
    this.#clock = clock;
    this.#answer_ms = answer_ms;
  }

  /**
   * Makes a call.
   *
   * @throws {UnavailableError} when it is not answered in time. It may be answered, and take effect, later
   */
  async call<T>(start: () => Promise<T>): Promise<T> {
    if (this.#left.size >= LEFT_MAX) {
      await within(this.#clock, this.#answer_ms, Promise.race(this.#left));
      if (this.#left.size >= LEFT_MAX) throw this.#unanswered();
    }
    const answer = start();
    const ended = await within(this.#clock, this.#answer_ms, answer.then((value) => ({ value })));
    if (ended) return ended.value;
    const forget = () => void this.#left.delete(left);
    const left: Promise<void> = answer.then(forget, forget);
    this.#left.add(left);
    throw this.#unanswered();
  }

  #unanswered(): UnavailableError {
    return new UnavailableError(
      `The database has not answered for ${this.#answer_ms / 1_000} s`,
      1,
    );
  }
}
