/**
 * Waiting for promises where some of them fail.
 *
 * @module
 */

/**
 * Waits until all promises have settled, also where one rejects: the work of the others still
 * writes to folders that an error handler removes, and has files open.
 *
 * @throws the reason of the first one in the list that was rejected
 */
export async function settleAll<const T extends readonly unknown[]>(
  work: T,
): Promise<{ -readonly [Index in keyof T]: Awaited<T[Index]> }> {
  await Promise.allSettled(work);
  return await Promise.all(work);
}

/** Takes the rejection of a {@linkcode deadline} that has passed, and throws every other one. */
export function ignoreTimeout(error: unknown): undefined {
  if (!(error instanceof DOMException && error.name === "TimeoutError")) throw error;
}
