/**
 * The database of one data folder: one Deno KV file, opened by one process at a time.
 *
 * @module
 */
import { join } from "node:path";
import { ConflictError, InvalidInputError, messageOf } from "../errors.ts";
import { pause } from "../pause.ts";
import { Committer, type CommitterEvents } from "./committer.ts";
import { DATABASE_FILE, holdOnlyExpiring, makeDatabaseFile } from "./database_file.ts";
import { EndedRuns } from "./ended_runs.ts";
import { FORMAT_VERSION, keys } from "./keys.ts";
import { migrate } from "./migrations.ts";
import { makePrivate } from "./private.ts";
import { Reads } from "./reads.ts";

export { DATABASE_FILE } from "./database_file.ts";

/** The name of the file in the data folder that the process which has it open holds a lock on. */
export const LOCK_FILE = "lock";
/** A process that was killed may leave a child that holds the lock for the moment before its exec. */
const LOCK_PATIENCE_MS = 1_000;
const LOCK_RETRY_MS = 20;

/** An open database. Everything that is stored goes through the functions of this folder. */
export interface Store extends AsyncDisposable {
  readonly kv: Deno.Kv;
  readonly committer: Committer;
  /** Reads single values, those together that are asked for at the same time. */
  readonly reads: Reads;
  readonly endedRuns: EndedRuns;
  /** Whether the database answers. */
  probe(): Promise<boolean>;
  /** Waits for what is being written, then closes the database and frees the data folder. */
  close(): Promise<void>;
}

/** What {@linkcode openStore} may be told. */
export interface OpenStoreOptions {
  events?: CommitterEvents;
  /** Whether what an earlier version has stored is left in its format, to be read only. */
  keepFormat?: boolean;
}

/**
 * Opens the database of a data folder, making the folder when it is missing, and brings it up to this
 * version's format. The database becomes its owner's alone, whatever it was.
 *
 * A second process on the same file would make commits fail with "database is locked" and would
 * count quotas on its own, so the folder is held by an exclusive lock, which the operating system
 * frees when the process ends in whatever way.
 *
 * @throws {ConflictError} when another process has the folder, or this version cannot read its format
 * @throws {InvalidInputError} when it can be no data folder
 */
export async function openStore(folder: string, options: OpenStoreOptions = {}): Promise<Store> {
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 }).catch(unusable(folder));
  const lock = await lockDataFolder(folder);
  let kv: Deno.Kv | undefined;
  try {
    const path = join(folder, DATABASE_FILE);
    // The folder may be one that others have something in. What else is in it is made for its owner alone.
    for (const each of databaseFiles(folder)) await makePrivate(each);
    await makeDatabaseFile(path).catch(unusable(folder));
    kv = await Deno.openKv(path).catch(unusable(folder));
    await prepareFormat(kv, folder, options.keepFormat ?? false);
  } catch (error) {
    kv?.close();
    lock.close();
    throw error;
  }
  return new OpenStore(kv, options.events, () => lock.close());
}

class OpenStore implements Store {
  readonly reads: Reads;
  readonly endedRuns = new EndedRuns();
  readonly committer: Committer;

  constructor(
    readonly kv: Deno.Kv,
    events: CommitterEvents | undefined,
    private readonly release: () => void,
  ) {
    this.reads = new Reads(kv);
    this.committer = new Committer(kv, {
      ...events,
      onWrite: (key) => this.endedRuns.written(key),
    });
  }

  async probe(): Promise<boolean> {
    return (await this.kv.get(keys.format())).value === FORMAT_VERSION;
  }

  async close(): Promise<void> {
    await this.committer.drain();
    this.kv.close();
    this.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Locks a data folder that is there. It is free again when the file is closed.
 *
 * @throws {ConflictError} when another process has it
 * @throws {InvalidInputError} when nothing can be written to it
 */
export async function lockDataFolder(folder: string): Promise<Deno.FsFile> {
  const path = join(folder, LOCK_FILE);
  const until_ms = performance.now() + LOCK_PATIENCE_MS;
  for (;;) {
    const file = await Deno.open(path, { create: true, write: true, mode: 0o600 })
      .catch(unusable(folder));
    if (await file.tryLock(true) && await isAt(path, file)) return file;
    file.close();
    if (performance.now() > until_ms) break;
    await pause(LOCK_RETRY_MS);
  }
  throw new ConflictError(
    `Cannot open the data folder ${folder}: another Hooklaunch process is using it. ` +
      "Stop that one, or name another folder with --data",
  );
}

/** Whether a file is still the one at its path: who made a lock for nothing may have removed it. */
async function isAt(path: string, file: Deno.FsFile): Promise<boolean> {
  const { dev, ino } = await file.stat();
  const there = await Deno.stat(path).catch(() => undefined);
  return there?.dev === dev && there.ino === ino;
}

/** What it means when a data folder, or what must be in it, cannot be made or opened. */
function unusable(folder: string): (error: unknown) => never {
  return (error) => {
    // Deno keeps programs out of /proc and its like, whatever else they are allowed.
    const why = error instanceof Deno.errors.NotCapable
      ? "Deno does not allow to write there"
      : messageOf(error);
    throw new InvalidInputError("--data", [{
      pointer: "",
      detail: `Expected a folder that is there or can be made, and written to, ` +
        `found "${folder}": ${why}`,
    }]);
  };
}

async function prepareFormat(kv: Deno.Kv, folder: string, keepFormat: boolean): Promise<void> {
  const { value } = await kv.get<number>(keys.format());
  if (value === null) {
    await holdOnlyExpiring(join(folder, DATABASE_FILE));
    await kv.set(keys.format(), FORMAT_VERSION);
  } else if (!Number.isInteger(value) || value < 1 || value > FORMAT_VERSION) {
    const hint = value > FORMAT_VERSION ? "; a newer version of Hooklaunch has written it" : "";
    throw new ConflictError(
      `Cannot open the data folder ${folder}: its format is ${value}, ` +
        `and this version reads format ${FORMAT_VERSION}${hint}`,
    );
  } else if (!keepFormat) {
    await migrate(kv, { folder, from: value });
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
function databaseFiles(folder: string): string[] {
  return ["", "-wal", "-shm"].map((ending) => join(folder, DATABASE_FILE + ending));
}
