/**
 * The user of the system that the process runs as.
 *
 * @module
 */

/**
 * Returns the id of the system's user that the process runs as, 0 for root: the owner of a file that it makes, since a
 * process needs one more permission to ask for its own. Undefined where systems have none, and where no file can be
 * made, as on a full disk.
 */
export async function userIdIn(folder: string): Promise<number | undefined> {
  try {
    const path = await Deno.makeTempFile({ dir: folder, prefix: "tmp-user-" });
    try {
      return (await Deno.lstat(path)).uid ?? undefined;
    } finally {
      await Deno.remove(path);
    }
  } catch {
    // It is a fact for people, and nothing depends on it.
    return undefined;
  }
}
