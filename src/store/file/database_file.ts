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
/** Time limit to wait for another connection to the database. */
const PATIENCE_MS = 10_000;

/** The index by which Deno KV finds what has expired, as it makes it. */
const INDEX = "kv_expiration_ms_idx";
const INDEX_OF_ALL = `CREATE INDEX ${INDEX} on kv (expiration_ms)`;

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
  // As Deno KV has it; besides, this writes the first page.
  await change(path, (database) => {
    database.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = WAL`);
  });
}

/**
 * Makes the index of what expires hold only that, in a database that Deno KV has made. Its own holds
 * every key: each write of a new key, and each removal, changes a second page somewhere in the file, for
 * records that never expire. What asks for expired ones goes by the smaller index as well: SQLite uses a
 * partial index where the query has its condition (https://www.sqlite.org/partialindex.html, section 3).
 */
export async function holdOnlyExpiring(path: string): Promise<void> {
  await change(path, (database) => {
    const index = database.prepare("SELECT sql FROM sqlite_schema WHERE name = ?").get(INDEX);
    // Another version of Deno may know better.
    if (index?.sql !== INDEX_OF_ALL) return;
    database.exec(
      `BEGIN IMMEDIATE; DROP INDEX ${INDEX}; ` +
        `${INDEX_OF_ALL} WHERE expiration_ms >= 0; COMMIT`,
    );
  });
}

async function change(
  path: string,
  how: (database: import("node:sqlite").DatabaseSync) => void,
): Promise<void> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(path, { timeout: PATIENCE_MS });
  try {
    how(database);
  } finally {
    database.close();
  }
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
