/**
 * Whether launches crowd, and what is left for runs then.
 *
 * @module
 */

/** How many runs are performed at a time while launches crowd. */
const CROWDED_CONCURRENCY = 1;
/** So many runs may wait for a crowd to leave: what a burst of some seconds brings. They wait on disk. */
const BURST = 50_000;
/** One more place for so many that wait beyond that: without it they would never catch up. */
const BACKLOG_PER_PLACE = 75;

/** Tells a crowd that lasts from a burst: so many were there at once, in each of the last two windows. */
export class Crowd {
  readonly #window_ms: number;
  readonly #least: number;
  #start_ms = -Infinity;
  /** The most at once in this window, in the one before, and in the one before that. */
  #most: [now: number, before: number, earlier: number] = [0, 0, 0];

  /** @param least how many at once are a crowd */
  constructor(window_ms: number, least: number) {
    this.#window_ms = window_ms;
    this.#least = least;
  }

  /** Notes how many are there now. */
  note(count: number, now_ms: number): void {
    this.#turn(now_ms);
    this.#most[0] = Math.max(this.#most[0], count);
  }

  /** Whether there was a crowd in each of the last two windows that are over. */
  lasts(now_ms: number): boolean {
    this.#turn(now_ms);
    const [, before, earlier] = this.#most;
    return Math.min(before, earlier) >= this.#least;
  }

  #turn(now_ms: number): void {
    const windows = Math.floor((now_ms - this.#start_ms) / this.#window_ms);
    if (windows < 1) return;
    const [now, before] = this.#most;
    this.#most = windows === 1 ? [0, now, before] : [0, 0, windows === 2 ? now : 0];
    this.#start_ms = windows > 2 ? now_ms : this.#start_ms + windows * this.#window_ms;
  }
}

/** How many runs to perform at a time while launches crowd and so many runs wait. */
export function crowdedPlaces(backlog: number): number {
  return CROWDED_CONCURRENCY + Math.floor(Math.max(0, backlog - BURST) / BACKLOG_PER_PLACE);
}
