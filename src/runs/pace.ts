/**
 * How fast things come.
 *
 * @module
 */

/** Counts what comes, in windows of so many milliseconds. */
export class Pace {
  readonly #window_ms: number;
  readonly #fast: number;
  #start_ms = -Infinity;
  #count = 0;
  #before = 0;

  /** @param fast how many in one window are fast */
  constructor(window_ms: number, fast: number) {
    this.#window_ms = window_ms;
    this.#fast = fast;
  }

  /** Counts one. */
  count(now_ms: number): void {
    this.#turn(now_ms);
    this.#count++;
  }

  /** Whether as many as are fast have come in this window or in the one before. */
  isFast(now_ms: number): boolean {
    this.#turn(now_ms);
    return Math.max(this.#count, this.#before) >= this.#fast;
  }

  #turn(now_ms: number): void {
    const age_ms = now_ms - this.#start_ms;
    if (age_ms < this.#window_ms) return;
    this.#before = age_ms < 2 * this.#window_ms ? this.#count : 0;
    this.#count = 0;
    this.#start_ms = now_ms;
  }
}
