/**
 * Detects many simultaneous launches.
 *
 * @module
 */

/** Tells a lasting load from a burst by the peak of simultaneous launches in each of the last two windows. */
export class LoadWindow {
  readonly #window_ms: number;
  readonly #least: number;
  #start_ms = -Infinity;
  /** The launches that are being stored. A commit may take longer than a window. */
  #count = 0;
  /** The peaks of this window, of the one before, and of the one before that. */
  #most: [now: number, before: number, earlier: number] = [0, 0, 0];

  /** @param least the simultaneous launches that make a load */
  constructor(window_ms: number, least: number) {
    this.#window_ms = window_ms;
    this.#least = least;
  }

  /** Notes the number of launches that are being stored from now on. */
  note(count: number, now_ms: number): void {
    this.#roll(now_ms);
    this.#count = count;
    this.#most[0] = Math.max(this.#most[0], count);
  }

  /** Returns true when each of the last two full windows had such a load. */
  lasts(now_ms: number): boolean {
    this.#roll(now_ms);
    const [, before, earlier] = this.#most;
    return Math.min(before, earlier) >= this.#least;
  }

  #roll(now_ms: number): void {
    const windows = Math.floor((now_ms - this.#start_ms) / this.#window_ms);
    if (windows < 1) return;
    const [now, before] = this.#most;
    const count = this.#count;
    this.#most = windows === 1 ? [count, now, before] : [count, count, windows === 2 ? now : count];
    this.#start_ms = windows > 2 ? now_ms : this.#start_ms + windows * this.#window_ms;
  }
}
