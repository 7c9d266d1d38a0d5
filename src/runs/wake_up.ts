/**
 * The wake-up message: part of an acceptance commit, heard by whichever worker the queue picks. One
 * message wakes for all that is pending, so while one is under way no further one is needed; that
 * spares the queue's own commits for each launch.
 *
 * @module
 */
import type { Clock } from "../clock.ts";

/** After so long a message is taken to be lost, such as with a commit that failed. */
const UNDER_WAY_MAX_MS = 5_000;

/** Knows whether a wake-up message is under way. */
export class WakeUp {
  readonly #clock: Clock;
  #sentAt_ms = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The message to send, or undefined when one is under way. */
  message(): { kind: "wake_up" } | undefined {
    const now_ms = this.#clock.steady();
    if (now_ms - this.#sentAt_ms < UNDER_WAY_MAX_MS) return undefined;
    this.#sentAt_ms = now_ms;
    return { kind: "wake_up" };
  }

  /** A message has arrived. */
  received(): void {
    this.#sentAt_ms = -Infinity;
  }
}
