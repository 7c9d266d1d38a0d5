/**
 * Durable files: a loss of power takes back nothing that was written to disk here.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { writeAll } from "./bytes.ts";
import { HooklaunchError } from "../errors.ts";
import { shell } from "../run_script.ts";

/**
 * The errors of file systems that cannot write a folder to disk on demand, as some network disks.
 */
const CANNOT = new Set(["EINVAL", "EBADF", "ENOTSUP", "EACCES"]);
/** Syncs the file system of a folder alone where `sync` can do that, and all of them elsewhere. */
const SYNC = 'sync -f "$1" 2>/dev/null || sync';

/**
 * Bytes of a long file that go to disk at once. The disk has a turn for launches between two parts, while a
 * sync of the whole would keep those waiting for a second and more.
 */
export const PART_BYTES = 2 * 1024 * 1024;

/** A folder that cannot be written to disk. */
export class SyncError extends HooklaunchError {
  override readonly code = "sync_failed";
}

/**
 * Makes a function that writes bytes to a file, and to disk part by part. What comes behind the last part is on
 * disk after a sync alone.
 */
export function partWriter(
  file: Pick<Deno.FsFile, "write" | "syncData">,
): (bytes: Uint8Array) => Promise<void> {
  let unsynced = 0;
  return async (bytes) => {
    await writeAll(file, bytes);
    unsynced += bytes.length;
    if (unsynced < PART_BYTES) return;
    await file.syncData();
    unsynced = 0;
  };
}

/** Writes the contents of a file to disk. */
export async function syncFile(path: string): Promise<void> {
  using file = await Deno.open(path, { read: true });
  await file.sync();
}

/** Writes the names in a folder to disk, such as that of a file that was renamed. */
export async function syncFolder(path: string): Promise<void> {
  try {
    using folder = await Deno.open(path, { read: true });
    await folder.sync();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!CANNOT.has(code)) throw error;
  }
}

/** Writes the names in a folder, and in all folders below it, to disk. */
export async function syncFolders(path: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    if (isDirectory) await syncFolders(join(path, name));
  }
  await syncFolder(path);
}

/**
 * Replaces a file: after a loss of power it holds the old text or the new one, and never a part.
 *
 * @param mode the permissions of the new file
 */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.tmp-${crypto.randomUUID()}`;
  try {
    await Deno.writeTextFile(temporary, text, { mode, createNew: true });
    await syncFile(temporary);
    await Deno.rename(temporary, path);
  } catch (error) {
    await Deno.remove(temporary).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
}

/**
 * Writes all that a folder holds to disk. File by file it would take minutes for many.
 *
 * @throws {SyncError} with what the system said
 */
export async function syncTree(path: string): Promise<void> {
  const { success, stderr } = await shell(SYNC, [path]);
  if (success) return;
  const said = new TextDecoder().decode(stderr).trim();
  throw new SyncError(`Cannot write ${path} to disk: ${said}`);
}
