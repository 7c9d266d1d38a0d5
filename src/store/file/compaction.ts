/**
 * A copy of a database that holds its records and nothing else. What was removed from a database stands
 * in its free pages until something is written over it. SQLite's VACUUM needs a second database attached,
 * which Deno allows only to programs with all permissions.
 *
 * @module
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ConflictError, InvalidInputError } from "../../platform/errors.ts";
import { PART_BYTES, syncFile, syncFolder } from "../../platform/files/durable.ts";
import { exists, ignoreMissing } from "../../platform/files/missing_file.ts";
import { DATABASE_FILE, databaseBytes, databaseFiles, PAGE_BYTES } from "./database_file.ts";
import { lockDataFolder } from "./folder_lock.ts";
import { DamagedDatabaseError } from "./start_check.ts";
import { findDamage } from "./integrity.ts";

/** Time limit to wait for a process that recovers the file after a crash. */
const BUSY_MS = 10_000;
/** Rows that are copied, at most, before they go to disk and others get their turn. */
const ROWS = 2_000;

/** The file in the data folder that a compact copy is written to, before it replaces the database. */
const COPY_FILE = `${DATABASE_FILE}.compact`;

/** Options of {@linkcode copyRecords}. */
export interface CopyOptions {
  signal?: AbortSignal;
  /** Called with the number of rows that are copied. */
  onProgress?(rows: number): void;
}

/**
 * Copies what a database holds to a new file. The database must not be written to meanwhile.
 *
 * @throws {Error} of SQLite or of the signal; the new file is of no use then
 */
export async function copyRecords(
  source: string,
  target: string,
  options: CopyOptions = {},
): Promise<void> {
  // SQLite makes a file for everybody to read.
  using file = await Deno.open(target, { write: true, createNew: true, mode: 0o600 });
  using from = new DatabaseSync(source, { readOnly: true, timeout: BUSY_MS });
  using to = new DatabaseSync(target);
  // The copy is of no use until it is complete, and is written to disk then.
  to.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF`);
  to.exec("BEGIN");
  const schema = from.prepare(
    "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' " +
      "ESCAPE '\\' ORDER BY type <> 'table'",
  ).all();
  for (const { type, name, sql } of schema) {
    to.exec(String(sql));
    if (type === "table") await copyTable(from, to, String(name), { ...options, file });
  }
  const { user_version } = from.prepare("PRAGMA user_version").get() ?? {};
  to.exec(`PRAGMA user_version = ${Number(user_version)}; COMMIT; PRAGMA journal_mode = WAL`);
}

/** The sizes of a database that was compacted, in bytes. */
interface Compaction {
  before_bytes: number;
  after_bytes: number;
}

/**
 * Replaces the database of a data folder, which no process uses, by a copy of its records.
 *
 * @throws {InvalidInputError} when there is no database
 * @throws {ConflictError} when a process uses the data folder
 * @throws {DamagedDatabaseError} when the database is damaged: a copy might lack records
 * @throws {Error} of SQLite, the system or the signal; the database is as it was then
 */
export async function compact(folder: string, options: CopyOptions = {}): Promise<Compaction> {
  const path = join(folder, DATABASE_FILE);
  if (!await exists(path)) {
    throw new InvalidInputError(
      "--data",
      `Expected a data folder: there is no ${DATABASE_FILE} in it`,
    );
  }
  using _lock = await lockDataFolder(folder);
  const copy = join(folder, COPY_FILE);
  const before_bytes = await databaseBytes(folder);
  const damage = findDamage(path);
  if (damage !== undefined) throw new DamagedDatabaseError(folder, damage);
  await Deno.remove(copy).catch(ignoreMissing);
  try {
    await copyRecords(path, copy, options);
    await syncFile(copy);
    settle(path);
    // A WAL is of its own database alone. None is left once all of it is in the file.
    for (const beside of databaseFiles(folder).slice(1)) {
      await Deno.remove(beside).catch(ignoreMissing);
    }
    await Deno.rename(copy, path);
    await syncFolder(folder);
  } catch (error) {
    await Deno.remove(copy).catch(ignoreMissing);
    throw error;
  }
  return { before_bytes, after_bytes: await databaseBytes(folder) };
}

/** Writes the whole WAL of a database to its file. */
function settle(path: string): void {
  using database = new DatabaseSync(path, { timeout: BUSY_MS });
  const { busy } = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() ?? {};
  if (busy !== 0) throw new ConflictError(`Cannot compact ${path}: another program reads it`);
}

async function copyTable(
  from: DatabaseSync,
  to: DatabaseSync,
  table: string,
  { signal, onProgress, file }: CopyOptions & { file: Deno.FsFile },
): Promise<void> {
  const rows = from.prepare(`SELECT * FROM "${table}"`);
  rows.setReadBigInts(true);
  const places = rows.columns().map(() => "?").join(", ");
  const insert = to.prepare(`INSERT INTO "${table}" VALUES (${places})`);
  let copied = 0;
  let bytes = 0;
  for (const row of rows.iterate()) {
    const values = Object.values(row);
    insert.run(...values);
    for (const value of values) if (value instanceof Uint8Array) bytes += value.length;
    if (++copied % ROWS > 0 && bytes < PART_BYTES) continue;
    onProgress?.(copied);
    await file.syncData();
    bytes = 0;
    signal?.throwIfAborted();
  }
}
