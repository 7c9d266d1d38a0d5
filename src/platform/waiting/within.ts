/**
 * Waiting, but not for ever.
 *
 * @module
 */

/** Waits for a promise, but not for longer than `deadline_ms`; undefined when it took longer. */
export async function within<T>(deadline_ms: number, work: Promise<T>): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), deadline_ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
