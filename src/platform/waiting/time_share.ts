/**
 * Bounds the share of the event loop's time that some work takes.
 *
 * @module
 */
import { delay } from "@std/async/delay";

/** Hands out slices of time, which all that use it share. */
export class TimeShare {
  /** The longest time to work without a pause, in milliseconds. */
  readonly slice_ms: number;
  readonly #period_ms: number;
  /** The time at which the next slice begins. */
  #next_ms = 0;

  /** @param share the part of the time that slices take together, such as 0.25 */
  constructor({ slice_ms, share }: { slice_ms: number; share: number }) {
    this.slice_ms = slice_ms;
    this.#period_ms = slice_ms / share;
  }

  /** Waits for the next free slice. */
  async nextSlice(): Promise<void> {
    const now_ms = performance.now();
    const begin_ms = Math.max(now_ms, this.#next_ms);
    this.#next_ms = begin_ms + this.#period_ms;
    await delay(begin_ms - now_ms);
  }
}
