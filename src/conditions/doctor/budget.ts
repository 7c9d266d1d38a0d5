/**
 * The time that a diagnosis may take. It runs on the event loop, so it gives way to requests between its attempts.
 *
 * @module
 */
import { setImmediate } from "node:timers";

/** After so much work others have their turn. */
const TURN_MS = 4;

/** The rest of the time of a diagnosis. Waiting for its turn does not count. */
export class Budget {
  #left_ms: number;
  #turn_ms = 0;

  constructor(limit_ms: number) {
    this.#left_ms = limit_ms;
  }

  /** No time is left: what was not tried yet is not tried. */
  get isSpent(): boolean {
    return this.#left_ms <= 0;
  }

  /** Does a piece of work, which should be short: it is not interrupted. */
  async spend<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#turn_ms >= TURN_MS) {
      this.#turn_ms = 0;
      await new Promise<void>((resolve) => void setImmediate(resolve));
    }
    const start_ms = performance.now();
    try {
      return await work();
    } finally {
      const took_ms = performance.now() - start_ms;
      this.#left_ms -= took_ms;
      this.#turn_ms += took_ms;
    }
  }
}
