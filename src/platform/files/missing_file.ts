/**
 * Files that may not be there.
 *
 * @module
 */

/** Whether there is anything at a path, be it a link that leads nowhere. */
export async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

/** Takes what something throws that is done to a file, and passes on all but that there is none. */
export function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
