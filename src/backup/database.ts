/**
 * A copy of the database at one moment, whether a service has it open or not.
 *
 * The file is SQLite's, in WAL mode, where who reads never keeps anybody from writing, nor is kept from
 * it: the service does not notice. All pages are copied within one read transaction, so they are of one
 * moment, that of a commit. Without it the copy would start again whenever the service writes, and under
 * load never come to its end; and the plain file lacks what is still in the WAL. The records are copied from
 * that copy, since its free pages hold what was removed.
 *
 * @module
 */
import { backup, DatabaseSync } from "node:sqlite";
import { messageOf } from "../platform/errors.ts";
import { PART_BYTES } from "../platform/files/durable.ts";
import { ignoreMissing } from "../platform/files/missing_file.ts";
import { removeInParts } from "../platform/files/remove_tree.ts";
import { type CopyOptions, copyRecords } from "../store/file/compaction.ts";
import { PAGE_BYTES } from "../store/file/database_file.ts";
import { findDamage } from "../store/file/integrity.ts";
import { BackupError } from "./error.ts";

/** Time limit to wait for a process that recovers the file after a crash. */
const BUSY_MS = 10_000;
/** Pages that are copied at a time, and then written to disk. */
const PAGES = PART_BYTES / PAGE_BYTES;

/**
 * Copies what a database holds to a new file. What was removed from it is not in the copy.
 *
 * @throws {BackupError} when it cannot be read, or is damaged, or the signal aborts
 */
export async function copyDatabase(
  source: string,
  target: string,
  options: CopyOptions = {},
): Promise<void> {
  const pages = `${target}.pages`;
  try {
    await copyPages(source, pages);
    // There is an earlier one where the key has changed meanwhile.
    await Deno.remove(target).catch(ignoreMissing);
    await copyRecords(pages, target, options);
  } catch (error) {
    if (error instanceof BackupError) throw error;
    throw new BackupError(`Cannot copy the database ${source} to ${target}: ${messageOf(error)}`);
  } finally {
    // SQLite keeps two files beside one that it reads.
    for (const ending of ["-wal", "-shm"]) await Deno.remove(pages + ending).catch(ignoreMissing);
    await removeInParts(pages);
  }
}

/** Copies all pages, the free ones too, and checks them: a damaged database could hide records. */
async function copyPages(source: string, target: string): Promise<void> {
  // SQLite makes a file for everybody to read.
  (await Deno.open(target, { write: true, create: true, mode: 0o600 })).close();
  try {
    await copyFrom(source, target).catch(async (error) => {
      if (!isCannotOpen(error)) throw error;
      // Its two other files cannot be made, as on a read-only file system. Without them all is in the one.
      await expectNoWal(
        source,
        "no files can be made beside it: copy the data folder and back up the copy",
      );
      await Deno.copyFile(source, target);
      await expectNoWal(source, "a service has begun to write to it: try again");
    });
  } catch (error) {
    throw new BackupError(
      `Cannot copy the database ${source} to ${target}: ${messageOf(error)}`,
    );
  }
  const problem = problemOf(target);
  if (problem === undefined) return;
  throw new BackupError(`Cannot back up the database ${source}: ${problem}`);
}

async function copyFrom(source: string, target: string): Promise<void> {
  const database = new DatabaseSync(source, { readOnly: true, timeout: BUSY_MS });
  try {
    database.exec("BEGIN");
    // The transaction begins with what is read first.
    database.prepare("SELECT count(*) FROM sqlite_schema").get();
    using copy = await Deno.open(target, { read: true });
    await backup(database, target, { rate: PAGES, progress: () => copy.syncDataSync() });
  } finally {
    database.close();
  }
}

async function expectNoWal(path: string, otherwise: string): Promise<void> {
  const wal = await Deno.stat(`${path}-wal`).catch(() => undefined);
  if (wal && wal.size > 0) throw new BackupError(otherwise);
}

/** Recognizes SQLite's error for a file that cannot be opened (`SQLITE_CANTOPEN`). */
function isCannotOpen(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === 14;
}

/** Moves all of a closed database into its one file, and that to disk. */
export async function settleDatabase(path: string): Promise<void> {
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    database.close();
  }
  using file = await Deno.open(path, { read: true, write: true });
  await file.sync();
}

/** Checks a database that no process has open. Returns the problem; undefined when there is none. */
export function problemOf(path: string): string | undefined {
  try {
    const damage = findDamage(path);
    if (damage !== undefined) return `it is damaged: ${damage}`;
    using database = new DatabaseSync(path);
    // SQLite takes any short file for an empty database, and Deno KV would make tables in it.
    if (database.prepare("SELECT 1 FROM kv LIMIT 1").get() === undefined) return "it is empty";
    return undefined;
  } catch (error) {
    return `it is no database of Hooklaunch, or is damaged: ${messageOf(error)}`;
  }
}

/** Counts the records of a database that no process has open. */
export function countRecords(path: string): number {
  using database = new DatabaseSync(path);
  return Number(database.prepare("SELECT count(*) AS records FROM kv").get()?.records);
}
