/** The part of `@std/async/delay` that is used, typed for the npm build of the standard library. */

/** Resolves after `ms` milliseconds; rejects with the signal's reason when that aborts before. */
export function delay(
  ms: number,
  options?: { signal?: AbortSignal; persistent?: boolean },
): Promise<void>;
