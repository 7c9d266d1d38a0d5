/**
 * Opens the database: a Deno KV file in the data folder, or a remote Deno KV. One process at a time owns it.
 *
 * @module
 */
import { join } from "node:path";
import type { ArtifactStore } from "../artifacts/store.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import { InvalidInputError, messageOf } from "../platform/errors.ts";
import type { CommitterEvents } from "./commit/committer.ts";
import { DATABASE_FILE, databaseFiles, makeDatabaseFile } from "./file/database_file.ts";
import { DatabaseGuard } from "./file/database_guard.ts";
import { lockDataFolder } from "./file/folder_lock.ts";
import { machineIdOf } from "./file/machine_id.ts";
import { makePrivate } from "./file/private_files.ts";
import { roomOf } from "./file/space.ts";
import { type CheckSizes, DamagedDatabaseError, isDamage, StartCheck } from "./file/start_check.ts";
import { unusable } from "./file/unusable.ts";
import { assembleStore } from "./kv_store.ts";
import { Ownership, type OwnershipOptions } from "./commit/ownership.ts";
import { askingAgain } from "./read/asked_again.ts";
import type { Shared, SharedOptions } from "./shared_store.ts";
import type { Store } from "./store.ts";

/** The least room on the disk with which a database is opened. */
const OPENING_BYTES = 1024 * 1024;
/** The variable from which Deno reads the access token of a remote Deno KV. */
const TOKEN_VARIABLE = "DENO_KV_ACCESS_TOKEN";

/** Options of {@linkcode openStore}. */
export interface OpenStoreOptions {
  clock?: Clock;
  events?: CommitterEvents;
  /** Holds long payloads, for all instances; absent where the database is to hold them. */
  artifacts?: ArtifactStore;
  /** Leaves data of an earlier version in its format, for reading only. */
  keepFormat?: boolean;
  /** The remote Deno KV that the database is; without it, it is a file in the data folder. */
  remote?: RemoteDatabase;
  /** Checks the file for damage: before it is opened, or in the background when it is large. */
  check?: CheckSizes;
}

/** A remote Deno KV, over KV Connect. */
interface RemoteDatabase {
  url: string;
  ownership?: OwnershipOptions;
  /** Shares the database with other instances. Without it, this process alone has the database. */
  share?: Pick<SharedOptions, "id">;
}

/**
 * Opens the database of a data folder, making the folder when it is missing, and brings it up to this
 * version's format. The database becomes its owner's alone, whatever it was.
 *
 * A second process on the same file would make commits fail with "database is locked" and would
 * count quotas on its own, so the folder is held by an exclusive lock, which the operating system
 * frees when the process ends in whatever way. A remote database is waited for until no other process
 * has it.
 *
 * @throws {ConflictError} when another process has it and is not waited for, or this version cannot
 * read its format
 * @throws {InvalidInputError} when it can be no data folder
 * @throws {DamagedDatabaseError} when the check finds damage
 * @throws {UnavailableError} when its format cannot be stored, as when another process took it meanwhile
 */
export async function openStore(folder: string, options: OpenStoreOptions = {}): Promise<Store> {
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 }).catch(unusable(folder));
  const { remote, events, keepFormat = false, check, clock = systemClock, artifacts } = options;
  await using opened = new AsyncDisposableStack();
  let kv: Deno.Kv;
  let ownership: Ownership | undefined;
  let shared: Shared | undefined;
  let guard: DatabaseGuard | undefined;
  if (remote === undefined) {
    opened.use(await lockDataFolder(folder));
    const startCheck = check && new StartCheck(folder, check);
    await prepareFile(folder);
    const isChecked = await startCheck?.checkSmall();
    kv = opened.use(await Deno.openKv(join(folder, DATABASE_FILE)).catch(unusable(folder)));
    guard = new DatabaseGuard([folder, ...databaseFiles(folder).slice(0, 2)]);
    if (isChecked === false) await startCheck?.checkLarge((error) => guard?.lose(error));
  } else {
    const { ownership: { answer_ms } = {} } = remote;
    kv = opened.use(askingAgain(await openRemote(remote.url), clock, answer_ms));
    if (remote.share) {
      opened.use(await lockDataFolder(folder));
      const { ownership, share } = remote;
      const machineId = await machineIdOf(folder);
      const { Shared } = await import("./shared_store.ts");
      shared = await Shared.join({ kv, clock, events, ownership, machineId, ...share });
      opened.defer(() => shared?.leave());
    } else {
      ownership = await Ownership.take(kv, { clock, ...remote.ownership });
      opened.defer(() => ownership?.release());
      opened.use(await lockDataFolder(folder));
    }
  }
  const where = remote?.url ?? folder;
  const own = { clock, events, ownership, shared, guard, opened: opened.move() };
  const parts = { ...own, ...(artifacts && { artifacts }) };
  try {
    return await assembleStore(kv, parts, { where, keepFormat });
  } catch (error) {
    if (remote !== undefined || !isDamage(error)) throw error;
    throw new DamagedDatabaseError(folder, messageOf(error));
  }
}

async function prepareFile(folder: string): Promise<void> {
  await expectRoom(folder);
  // The folder may be one that others have something in. What else is in it is made for its owner alone.
  for (const each of databaseFiles(folder)) await makePrivate(each);
  await makeDatabaseFile(folder).catch(unusable(folder));
}

/**
 * Expects some room on the disk. Deno KV ends the process when it opens a database on a full disk and the
 * queue holds a message that was under way at a crash ("KV queue cleanup failed").
 */
async function expectRoom(folder: string): Promise<void> {
  const { bytes = Infinity } = await roomOf(folder);
  if (bytes >= OPENING_BYTES) return;
  throw new InvalidInputError(
    "--data",
    `Expected room for ${OPENING_BYTES} bytes on the disk of "${folder}", found ${bytes}. ` +
      "Its disk is full: make room, then start again",
  );
}

/**
 * Opens a remote Deno KV.
 *
 * @throws {InvalidInputError} when its access token is missing, or it does not answer
 */
export async function openRemote(url: string): Promise<Deno.Kv> {
  if (!Deno.env.get(TOKEN_VARIABLE)) {
    const detail = "Expected the access token of the Deno KV that --kv names, found none";
    throw new InvalidInputError(TOKEN_VARIABLE, detail);
  }
  return await Deno.openKv(url).catch((error) => {
    throw new InvalidInputError(
      "--kv",
      `Expected the URL of a Deno KV that answers, found ${url}: ${messageOf(error)}`,
    );
  });
}
