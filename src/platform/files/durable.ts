/**
 * What is on disk, and not only in the memory of the operating system: a loss of power does not take it back.
 *
 * @module
 */
import { shell } from "../processes/shell.ts";

/** What the system says where a folder cannot be written to disk on demand, as on some network disks. */
const CANNOT = new Set(["EINVAL", "EBADF", "ENOTSUP", "EACCES"]);
/** The file system of a folder alone, where `sync` can do that; else all there are. */
const SYNC = 'sync -f "$1" 2>/dev/null || sync';

/** Writes to disk which names a folder has, such as that of a file that was renamed. */
export async function syncFolder(path: string): Promise<void> {
  try {
    using folder = await Deno.open(path, { read: true });
    await folder.sync();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!CANNOT.has(code)) throw error;
  }
}

/** Writes to disk all that a folder holds, however deep. File by file it would take minutes for many. */
export async function syncTree(path: string): Promise<void> {
  const { success, stderr } = await shell(SYNC, [path]);
  if (success) return;
  const said = new TextDecoder().decode(stderr).trim();
  throw new Error(`Cannot write ${path} to disk: ${said}`);
}
