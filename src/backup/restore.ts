/**
 * Restores a backup into a data folder.
 *
 * The archive is read into a folder within the data folder and checked there. Its database is opened and
 * migrated to the present format. Then a few renames put it in place; when one fails, they are undone. The
 * data folder itself stays, since it may be a mount point. Its lock is held all the time.
 *
 * @module
 */
import { dirname, join, resolve } from "node:path";
import { messageOf } from "../platform/errors.ts";
import { ignoreMissing } from "../platform/files/missing_file.ts";
import { syncFolder, syncTree } from "../platform/files/durable.ts";
import { getExecution, openExecutions, saveExecution } from "../store/records/executions.ts";
import { getJob } from "../store/records/jobs.ts";
import { DATABASE_FILE, databaseFiles, UNFINISHED_RESTORE } from "../store/file/database_file.ts";
import { LOCK_FILE, lockDataFolder } from "../store/file/folder_lock.ts";
import { openStore } from "../store/open_store.ts";
import { extractArchive, type ExtractedArchive } from "./archive_reader.ts";
import { countRecords, problemOf, settleDatabase } from "./database.ts";
import { fillDatabase, finishFilling } from "./shared/fill.ts";
import { makeDatabase } from "./shared/apply.ts";
import { BackupError, DamagedBackupError } from "./error.ts";

/** Names that an empty data folder may hold: the lock, and what a new file system has. */
const NOTHING = new Set([LOCK_FILE, "lost+found"]);

/** The source and the target of a restore. */
export interface RestoreOptions {
  /** The data folder. */
  data: string;
  /** The remote Deno KV for the database, in place of a file in the data folder. It has to be empty. */
  remote?: { kv: Deno.Kv; url: string };
  source: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Moves existing data aside. */
  force: boolean;
  signal: AbortSignal;
  /** Receives the progress as one sentence, often. */
  onProgress(text: string): void;
}

/** The result of a restore. */
export interface RestoreReport extends ExtractedArchive {
  /** The executions that ran on this service's machine when the backup was made: they are over. */
  interrupted: string[];
  /** The executions that ran on clusters. They go on where their jobs still run. */
  on_clusters: string[];
  /** The path of the earlier data, which was moved aside. */
  aside: string | undefined;
}

/**
 * Restores a backup. When anything fails, the data folder is as it was.
 *
 * @throws {ConflictError} when a service has the data folder
 * @throws {BackupError} when there is data already, or the backup cannot be restored
 */
export async function restore(options: RestoreOptions): Promise<RestoreReport> {
  const { force, signal } = options;
  const data = resolve(options.data);
  const isNew = await makeFolder(data);
  const hadLock = (await Array.fromAsync(Deno.readDir(data))).some(({ name }) =>
    name === LOCK_FILE
  );
  using _lock = await lockDataFolder(data);
  try {
    const names = await namesIn(data);
    const unfinished = names.filter((name) => name.startsWith(UNFINISHED_RESTORE));
    if (unfinished.length === names.length) {
      // No process uses them, since the lock is held. The archives that they came from still exist.
      for (const name of unfinished) await Deno.remove(join(data, name), { recursive: true });
    } else if (!force) {
      const also = unfinished.length > 0 ? ", and parts of a restore that was interrupted" : "";
      throw new BackupError(
        `Cannot restore to ${data}: it holds data already${also}. --force moves it aside`,
      );
    }
    const folder = await Deno.makeTempDir({ dir: data, prefix: UNFINISHED_RESTORE });
    try {
      const archive = await extractArchive(options.source, { ...options, folder });
      const { header, records } = archive;
      if (records !== undefined) await makeDatabase(folder, records, signal);
      const running = await prepare(folder, header.records);
      await syncTree(folder).catch((error) => {
        throw new BackupError(`Cannot restore to ${data}: ${messageOf(error)}`);
      });
      signal.throwIfAborted();
      await moveDatabase(folder, options);
      const aside = await replace(data, folder);
      if (options.remote) await finishFilling(options.remote.kv);
      if (isNew) await syncFolder(dirname(data));
      return { ...archive, ...running, aside };
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  } catch (error) {
    if (isNew) await Deno.remove(data, { recursive: true });
    else if (!hadLock) await Deno.remove(join(data, LOCK_FILE));
    throw error;
  }
}

/**
 * Prepares the database of the archive for a service.
 *
 * @returns the executions that were under way
 */
async function prepare(
  folder: string,
  records: number | undefined,
): Promise<Pick<RestoreReport, "interrupted" | "on_clusters">> {
  const path = join(folder, DATABASE_FILE);
  if (!await Deno.lstat(path).then(({ isFile }) => isFile, () => false)) {
    throw new DamagedBackupError("Cannot restore this backup: it has no database");
  }
  const problem = problemOf(path);
  if (problem !== undefined) {
    throw new DamagedBackupError(
      `Cannot restore this backup: its database cannot be used: ${problem}`,
    );
  }
  if (records !== undefined) expectRecords(path, records);
  const interrupted: string[] = [];
  const on_clusters: string[] = [];
  try {
    await using store = await openStore(folder);
    for await (const { id, status } of openExecutions(store)) {
      if (status !== "started" && status !== "stopping") continue;
      // Only clusters' executions have jobs.
      if (await getJob(store, id) !== undefined) {
        on_clusters.push(id);
        continue;
      }
      const execution = await getExecution(store, id);
      // Its attempt is among them, too.
      if (execution?.attempt_id !== undefined) continue;
      interrupted.push(id);
      if (execution?.engine_state === undefined) continue;
      // Processes of this machine with the ids in the backup do not belong to this copy, even where the
      // backup is of this machine. Without these ids the engine looks for none.
      const { boot_id: _boot, start_id: _start, ...engine_state } = execution.engine_state;
      await store.committer.commit(saveExecution({ ...execution, engine_state }));
    }
  } catch (error) {
    throw new BackupError(`Cannot restore this backup: ${messageOf(error)}`, { cause: error });
  }
  await settleDatabase(path);
  await Deno.remove(join(folder, LOCK_FILE));
  return { interrupted, on_clusters };
}

/** Moves the database of a folder to a remote one. */
async function moveDatabase(folder: string, { remote, signal, onProgress }: RestoreOptions) {
  if (remote === undefined) return;
  onProgress("storing the records");
  const file = join(folder, DATABASE_FILE);
  await fillDatabase(remote.kv, { file, where: remote.url, signal });
  for (const each of databaseFiles(folder)) await Deno.remove(each).catch(ignoreMissing);
}

function expectRecords(path: string, expected: number): void {
  const found = countRecords(path);
  if (found === expected) return;
  throw new DamagedBackupError(
    `Cannot restore this backup: its database has ${found} records, and ${expected} were backed up`,
  );
}

/**
 * Replaces the contents of the data folder with the restored ones.
 *
 * @returns the path of the earlier contents
 */
async function replace(data: string, folder: string): Promise<string | undefined> {
  const moved: { from: string; to: string }[] = [];
  const move = async (from: string, to: string) => {
    await Deno.rename(from, to);
    moved.push({ from, to });
  };
  const before = (await namesIn(data)).filter((name) => join(data, name) !== folder);
  const aside = before.length > 0 ? await makeAside(data, folder) : undefined;
  try {
    // The old database goes first and the new one comes last: a folder without one is never taken for whole.
    const old = before.sort(databaseLast).toReversed();
    if (aside !== undefined) {
      for (const name of old) await move(join(data, name), join(aside, name));
      await syncFolder(aside);
      await syncFolder(dirname(aside));
    }
    const names = (await namesIn(folder)).sort(databaseLast);
    for (const name of names) {
      if (name === DATABASE_FILE) await syncFolder(data);
      await move(join(folder, name), join(data, name));
    }
    await syncFolder(data);
    return aside;
  } catch (error) {
    for (const { from, to } of moved.toReversed()) await Deno.rename(to, from);
    if (aside !== undefined) await Deno.remove(aside);
    throw new BackupError(`Cannot replace what is in ${data}: ${messageOf(error)}`);
  }
}

/** Makes the folder for the earlier contents: beside the data folder, or in it when it is a mount point. */
async function makeAside(data: string, folder: string): Promise<string> {
  const time = new Date().toISOString().replace(/\.\d+/, "").replaceAll(":", "");
  const beside = `${data}.before-restore-${time}`;
  try {
    await Deno.mkdir(beside, { mode: 0o700 });
    // A rename shows that both are on one file system.
    await Deno.rename(folder, join(beside, "restoring"));
    await Deno.rename(join(beside, "restoring"), folder);
    return beside;
  } catch {
    await Deno.remove(beside).catch(() => {
      // It could not be made.
    });
    const inside = join(data, `before-restore-${time}`);
    await Deno.mkdir(inside, { mode: 0o700 });
    return inside;
  }
}

function databaseLast(a: string, b: string): number {
  return Number(a === DATABASE_FILE) - Number(b === DATABASE_FILE);
}

/** Lists a data folder without the names that an empty one may hold. */
async function namesIn(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  return entries.map(({ name }) => name).filter((name) => !NOTHING.has(name));
}

/** Makes a folder. Returns false when it existed. */
async function makeFolder(path: string): Promise<boolean> {
  const isThere = await Deno.stat(path).then(({ isDirectory }) => isDirectory, () => false);
  try {
    if (!isThere) await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new BackupError(`Cannot make the data folder ${path}: ${messageOf(error)}`);
  }
  return !isThere;
}
