/**
 * Time as an argument: code that decides by time, or waits, takes a {@linkcode Clock}, which a test can set.
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
  /**
   * Calls a function once, after some milliseconds.
   *
   * @returns cancels the call
   */
  after(delay_ms: number, call: () => void): () => void;
}

const origin_ms = performance.timeOrigin;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => origin_ms + performance.now(),
  after(delay_ms, call) {
    const timer = setTimeout(call, delay_ms);
    return () => clearTimeout(timer);
  },
};

/** Writes a time, in milliseconds since the epoch, as RFC 3339 has it. */
export function timeText(time_ms: number): string {
  return new Date(time_ms).toISOString();
}
