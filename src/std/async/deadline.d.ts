/** The part of `@std/async/deadline` that is used, typed for the npm build of the standard library. */

/**
 * Returns a promise that rejects with a `DOMException` named `TimeoutError` when the promise it is made of
 * takes longer than `ms` milliseconds.
 */
export function deadline<T>(
  p: Promise<T>,
  ms: number,
  options?: { signal?: AbortSignal },
): Promise<T>;
