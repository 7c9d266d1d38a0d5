/**
 * The file of a database, where Deno KV's defaults do not fit.
 *
 * @module
 */
import { join } from "node:path";
import { ConflictError } from "../../platform/errors.ts";
import { ignoreMissing } from "../../platform/files/missing_file.ts";

/** The name of the database file in the data folder. */
export const DATABASE_FILE = "hooklaunch.kv";
/**
 * Prefix of the folder, within the data folder, into which a backup is read. A restore that was killed
 * leaves it there.
 */
export const UNFINISHED_RESTORE = "restoring-";

/**
 * The size of a page. SQLite makes pages of 4 KiB, and writes each with two calls to the operating
 * system: a chunk of a payload is fifteen of them, and launches of 1 KiB are a tenth slower. It cannot be
 * changed any more once there is something in the file.
 */
export const PAGE_BYTES = 16 * 1024;
/**
 * Makes the file of a database for its owner alone, unless there is one.
 *
 * @throws {ConflictError} when a restore is to bring one
 */
export async function makeDatabaseFile(folder: string): Promise<void> {
  const path = join(folder, DATABASE_FILE);
  const info = await Deno.stat(path).catch(ignoreMissing);
  if (info && info.size > 0) return;
  await expectNoRestore(folder);
  // SQLite makes it for everybody to read; those that it keeps beside it get the mode of this one.
  (await Deno.open(path, { create: true, write: true, mode: 0o600 })).close();
  const { DatabaseSync } = await import("node:sqlite");
  using database = new DatabaseSync(path);
  // The journal as Deno KV has it; besides, this writes the first page.
  database.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = WAL`);
}

/** Refuses to start on an unfinished restore: the owner expects the data of the backup, not an empty service. */
async function expectNoRestore(folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.startsWith(UNFINISHED_RESTORE)) continue;
    throw new ConflictError(
      `Cannot open the data folder ${folder}: a restore to it was broken off, and the database is not ` +
        `there yet. Restore the backup again, or remove ${name} to begin without any data`,
    );
  }
}

/** The size of a data folder's database on disk, in bytes. */
export async function databaseBytes(folder: string): Promise<number> {
  const sizes = databaseFiles(folder).map(async (path) => {
    const info = await Deno.stat(path).catch(() => undefined);
    return info?.size ?? 0;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size);
}

/** The database's own file, and those that SQLite keeps beside it while it is open. */
export function databaseFiles(folder: string): string[] {
  return ["", "-wal", "-shm"].map((ending) => join(folder, DATABASE_FILE + ending));
}
