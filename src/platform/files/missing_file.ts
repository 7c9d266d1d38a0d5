/**
 * Files that may not exist.
 *
 * @module
 */

/** Returns true if anything exists at a path, also a link that leads nowhere. */
export async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

/** Takes the error of a file that does not exist, and throws every other one. */
export function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
