/**
 * The two jobs of scheduled backups: making one, and proving that one can be restored. They read whole databases, so
 * a service runs them in a Worker.
 *
 * @module
 */
import { join } from "node:path";
import { messageOf } from "../../platform/errors.ts";
import { removeInParts, removeTree } from "../../platform/files/remove_tree.ts";
import { formatBytes } from "../../platform/text/display.ts";
import { DATABASE_FILE, databaseBytes } from "../../store/file/database_file.ts";
import { roomOf } from "../../store/file/space.ts";
import { openRemote, openStore } from "../../store/open_store.ts";
import { keys } from "../../store/keys.ts";
import { readValue } from "../../store/read/scan.ts";
import { backUp } from "../backup.ts";
import type { BackupReport } from "../report.ts";
import { BackupError, DamagedBackupError } from "../error.ts";
import { restore } from "../restore.ts";
import { expectSentinelOf } from "./sentinel.ts";
import { Digest, storeBackup } from "./place_streams.ts";
import { openPlace, type PlaceSettings } from "./place.ts";

/** The room that a job leaves on the disk: launches are turned away with less. */
const LEFT_BYTES = 512 * 1024 * 1024;
/** The prefix of the folders, in the data folder, in which jobs work. */
const WORK_FOLDER = "tmp-backup-";

/** A job. */
export interface BackupJob {
  kind: "make" | "prove";
  /** The data folder. */
  data: string;
  /** The URL of the shared database, in place of the one in the data folder. */
  kv?: string | undefined;
  place: PlaceSettings;
  /** The name of the backup. */
  name: string;
  /** The digest and the size of a backup that is to be proven, where they are known. */
  expected?: Pick<BackupReport, "sha256" | "bytes"> | undefined;
}

/** The result of a job. */
export type JobResult =
  | { made: BackupReport }
  /** `isReadBack` stands for one that was read and checked, and not restored. */
  | { proven: { files: number; isReadBack?: true } }
  /** `isDamaged` stands for a backup that is not what was backed up. */
  | { failure: string; isDamaged: boolean };

/** Does a job. It never rejects. */
export async function doBackupJob(job: BackupJob, signal: AbortSignal): Promise<JobResult> {
  try {
    return job.kind === "make"
      ? { made: await make(job, signal) }
      : { proven: await prove(job, signal) };
  } catch (error) {
    return { failure: messageOf(error), isDamaged: error instanceof DamagedBackupError };
  }
}

async function make(
  { data, kv: url, place: settings, name }: BackupJob,
  signal: AbortSignal,
): Promise<BackupReport> {
  using place = openPlace(settings);
  using kv = url === undefined ? undefined : await openRemote(url);
  const needed = kv === undefined ? 2 * await databaseBytes(data) : 0;
  return await inWorkFolder(
    data,
    needed,
    (temporary) =>
      storeBackup(place, name, signal, (target) => {
        const options = { withoutKey: false, force: false, signal, onProgress() {} };
        return backUp({ data, kv, target, temporary, ...options });
      }),
  );
}

async function prove(
  { data, place: settings, name, expected }: BackupJob,
  signal: AbortSignal,
): Promise<{ files: number }> {
  using place = openPlace(settings);
  const opened = await place.store.open(name);
  if (opened === undefined) {
    throw new DamagedBackupError(`The backup ${name} is not in ${place.name} any more`);
  }
  const needed = expected?.bytes ?? opened.size;
  return await inWorkFolder(data, needed, async (temporary) => {
    const restored = join(temporary, "restored");
    const digest = new Digest(opened.stream);
    const options = { force: false, signal, onProgress() {} };
    try {
      const { files } = await restore({ data: restored, source: digest.stream, ...options });
      if (expected !== undefined && digest.sha256 !== expected.sha256) {
        throw new DamagedBackupError(`The backup ${name} does not have the bytes that were stored`);
      }
      await expectSentinel(restored, name);
      return { files };
    } finally {
      await removeInParts(join(restored, DATABASE_FILE));
    }
  });
}

/** Checks that a restored database has what was written just before its backup. */
async function expectSentinel(folder: string, name: string): Promise<void> {
  await using store = await openStore(folder, { keepFormat: true });
  expectSentinelOf(name, await readValue(store.kv, keys.backupSentinel()));
}

/** Does work in a new folder in the data folder, and removes it. */
async function inWorkFolder<T>(
  data: string,
  needed_bytes: number,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  await removeWorkFolders(data);
  const { bytes } = await roomOf(data);
  if (bytes !== undefined && bytes < needed_bytes + LEFT_BYTES) {
    throw new BackupError(
      `There is too little room in ${data} to work with a backup: expected ${
        formatBytes(needed_bytes + LEFT_BYTES)
      }, found ${formatBytes(bytes)}`,
    );
  }
  const folder = await Deno.makeTempDir({ dir: data, prefix: WORK_FOLDER });
  try {
    return await work(folder);
  } finally {
    await removeTree(folder);
  }
}

/** Removes the folders of jobs that have ended with their process. */
async function removeWorkFolders(data: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(data)) {
    if (isDirectory && name.startsWith(WORK_FOLDER)) await removeTree(join(data, name));
  }
}
