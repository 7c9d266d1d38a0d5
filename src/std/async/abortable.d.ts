/** The part of `@std/async/abortable` that is used, typed for the npm build of the standard library. */

/**
 * Returns a promise that rejects with a signal's reason when that aborts before the promise it is made of
 * settles.
 */
export function abortable<T>(p: Promise<T>, signal: AbortSignal): Promise<T>;
