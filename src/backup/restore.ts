/**
 * Restoring a backup into a data folder.
 *
 * All of it is read into a folder within the data folder and checked there, its database opened and
 * brought up to the present format. Only then does anything take the place of what there was: a few
 * renames, which are taken back when one of them fails. The data folder itself stays, as it may be the
 * place that a disk is mounted at, and its lock is held all the time.
 *
 * @module
 */
import { dirname, join, resolve } from "node:path";
import { messageOf } from "../platform/errors.ts";
import { syncFolder, syncTree } from "../platform/files/durable.ts";
import { getExecution, openExecutions, saveExecution } from "../store/records/executions.ts";
import {
  DATABASE_FILE,
  LOCK_FILE,
  lockDataFolder,
  openStore,
  UNFINISHED_RESTORE,
} from "../store/store.ts";
import { extractArchive, type ExtractedArchive } from "./archive_reader.ts";
import { problemOf, settleDatabase } from "./database.ts";
import { BackupError } from "./error.ts";

/** What may be in a data folder that counts as empty: the lock, and what a new disk has. */
const NOTHING = new Set([LOCK_FILE, "lost+found"]);

/** What is restored, and where to. */
export interface RestoreOptions {
  /** The data folder. */
  data: string;
  source: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Whether what is in the data folder is moved aside. */
  force: boolean;
  signal: AbortSignal;
  /** Told how far it is, in one sentence, often. */
  onProgress(text: string): void;
}

/** What was restored. */
export interface RestoreReport extends ExtractedArchive {
  /** The executions that were under way when the backup was made. */
  interrupted: string[];
  /** Where the data is that was there before. */
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
      // Nobody works on them, as the lock is held, and what they were read from is still there.
      for (const name of unfinished) await Deno.remove(join(data, name), { recursive: true });
    } else if (!force) {
      const ofWhom = unfinished.length > 0 ? ", of a restore that was broken off as well" : "";
      throw new BackupError(
        `Cannot restore to ${data}: there is data in it already${ofWhom}, --force moves that aside`,
      );
    }
    const folder = await Deno.makeTempDir({ dir: data, prefix: UNFINISHED_RESTORE });
    try {
      const archive = await extractArchive(options.source, { ...options, folder });
      const interrupted = await prepare(folder);
      await syncTree(folder).catch((error) => {
        throw new BackupError(`Cannot restore to ${data}: ${messageOf(error)}`);
      });
      signal.throwIfAborted();
      const aside = await replace(data, folder);
      if (isNew) await syncFolder(dirname(data));
      return { ...archive, interrupted, aside };
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
 * Makes the database that was read fit to be used by a service.
 *
 * @returns the executions that were under way
 */
async function prepare(folder: string): Promise<string[]> {
  const path = join(folder, DATABASE_FILE);
  if (!await Deno.lstat(path).then(({ isFile }) => isFile, () => false)) {
    throw new BackupError("Cannot restore this backup: it has no database");
  }
  const problem = problemOf(path);
  if (problem !== undefined) {
    throw new BackupError(`Cannot restore this backup: its database cannot be used: ${problem}`);
  }
  const interrupted: string[] = [];
  try {
    await using store = await openStore(folder);
    for await (const { id, status } of openExecutions(store)) {
      if (status !== "started" && status !== "stopping") continue;
      interrupted.push(id);
      const execution = await getExecution(store, id);
      if (execution?.engine_state === undefined) continue;
      // What runs on this machine by the ids in the backup is not this copy's, even where the machine
      // is the one that the backup is of: without this nobody takes it for that.
      const { boot_id: _boot, start_id: _start, ...engine_state } = execution.engine_state;
      await store.committer.commit(saveExecution({ ...execution, engine_state }));
    }
  } catch (error) {
    throw new BackupError(`Cannot restore this backup: ${messageOf(error)}`, { cause: error });
  }
  await settleDatabase(path);
  await Deno.remove(join(folder, LOCK_FILE));
  return interrupted;
}

/**
 * Puts what was restored in the place of what there is.
 *
 * @returns where that is now
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
    // The old database first and the new one last: without either nothing is taken for whole.
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

/** Makes the folder for what there was: beside the data folder, or in it when it is a disk of its own. */
async function makeAside(data: string, folder: string): Promise<string> {
  const time = new Date().toISOString().replace(/\.\d+/, "").replaceAll(":", "");
  const beside = `${data}.before-restore-${time}`;
  try {
    await Deno.mkdir(beside, { mode: 0o700 });
    // Whether things can be moved there is known when one was.
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

/** What is in a data folder, apart from what does not count. */
async function namesIn(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  return entries.map(({ name }) => name).filter((name) => !NOTHING.has(name));
}

/** Makes a folder; false when it is there already. */
async function makeFolder(path: string): Promise<boolean> {
  const isThere = await Deno.stat(path).then(({ isDirectory }) => isDirectory, () => false);
  try {
    if (!isThere) await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new BackupError(`Cannot make the data folder ${path}: ${messageOf(error)}`);
  }
  return !isThere;
}
