/**
 * Work of which several pieces are done at once.
 *
 * @module
 */

/**
 * Waits until all of it is over, and not only until one has failed: what goes on behind an error still
 * writes to what is removed then, and has files open.
 *
 * @returns what came of each
 * @throws what the first of them in the list that failed was rejected with
 */
export async function allOver<const T extends readonly unknown[]>(
  work: T,
): Promise<{ -readonly [Index in keyof T]: Awaited<T[Index]> }> {
  await Promise.allSettled(work);
  return await Promise.all(work);
}
