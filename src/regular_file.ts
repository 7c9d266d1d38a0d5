/**
 * Opening files in folders in which others may put anything.
 *
 * @module
 */
import { ignoreMissing } from "./missing_file.ts";

/**
 * Opens a regular file; undefined when there is none, or it was replaced just now. Links are not followed,
 * and pipes are not opened, as that would wait for who writes into them.
 */
export async function openRegularFile(path: string): Promise<Deno.FsFile | undefined> {
  try {
    const named = await Deno.lstat(path);
    if (!named.isFile) return undefined;
    const file = await Deno.open(path, { read: true });
    // It may have been replaced by a link between the two.
    const { dev, ino } = await file.stat();
    if (dev === named.dev && ino === named.ino) return file;
    file.close();
    return undefined;
  } catch (error) {
    return ignoreMissing(error);
  }
}
