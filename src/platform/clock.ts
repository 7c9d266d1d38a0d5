/**
 * Time as an argument: code that decides by time takes a {@linkcode Clock}, which a test can set.
 *
 * @module
 */

/** A source of time. */
export interface Clock {
  /**
   * The wall clock, in milliseconds since the epoch. It can jump; use it for times that people and
   * senders see.
   */
  now(): number;
  /**
   * A clock that never jumps while the process lives, in milliseconds: it starts at the wall
   * clock's time and moves forward. Use it to measure spans.
   */
  steady(): number;
}

const origin_ms = performance.timeOrigin;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => origin_ms + performance.now(),
};
