/**
 * Folders that are on disk.
 *
 * @module
 */

/** What the system says where a folder cannot be written to disk on demand, as on some network disks. */
const CANNOT = new Set(["EINVAL", "EBADF", "ENOTSUP", "EACCES"]);

/** Writes to disk which names a folder has: a loss of power may take one that is new back otherwise. */
export async function syncFolder(path: string): Promise<void> {
  try {
    using folder = await Deno.open(path, { read: true });
    await folder.sync();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!CANNOT.has(code)) throw error;
  }
}

/** Writes to disk which names a folder has, and all folders in it. */
export async function syncFolders(path: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    if (isDirectory) await syncFolders(`${path}/${name}`);
  }
  await syncFolder(path);
}
