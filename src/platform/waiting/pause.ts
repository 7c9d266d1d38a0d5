/**
 * Doing nothing for a while.
 *
 * @module
 */

/**
 * Waits for `time_ms`, but not longer than until the signal aborts.
 *
 * @returns false when it was cut short
 */
export function pause(time_ms: number, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const stop = () => {
    clearTimeout(timer);
    resolve(false);
  };
  const timer = setTimeout(() => {
    signal?.removeEventListener("abort", stop);
    resolve(true);
  }, time_ms);
  signal?.addEventListener("abort", stop, { once: true });
  return promise;
}
