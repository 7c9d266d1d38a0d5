/**
 * Time as an argument: everything that decides by time takes a {@linkcode Clock}, so a test can set it.
 *
 * @module
 */

/** Where the time comes from. */
export interface Clock {
  /** The wall clock, in milliseconds since the epoch. It can jump; use it for what people and senders see. */
  now(): number;
  /**
   * Milliseconds since the epoch by a clock that never jumps while the process lives: it starts at
   * the wall clock's reading and then only moves forward. Use it to measure spans.
   */
  steady(): number;
}

const origin_ms = performance.timeOrigin;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => origin_ms + performance.now(),
};
