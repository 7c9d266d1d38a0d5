/**
 * The jobs of scheduled backups where no file is kept: the database goes to a bucket as it is read, and is proven by
 * reading all of it back.
 *
 * @module
 */
import { DamagedBackupError } from "../backup/error.ts";
import { expectSentinelOf } from "../backup/scheduled/sentinel.ts";
import type { BackupJob, JobResult } from "../backup/scheduled/job.ts";
import { openPlace } from "../backup/scheduled/place.ts";
import { Digest, storeBackup } from "../backup/scheduled/place_streams.ts";
import { checkArchive } from "../backup/shared/check.ts";
import { writeSharedArchive } from "../backup/shared/write.ts";
import { messageOf } from "../platform/errors.ts";

/** Does a job. It never rejects. */
export async function runHostedBackupJob(
  job: BackupJob,
  signal: AbortSignal,
  openKv: () => Promise<Deno.Kv> = () => Deno.openKv(),
): Promise<JobResult> {
  try {
    return job.kind === "make" ? await make(job, openKv, signal) : await prove(job, signal);
  } catch (error) {
    return { failure: messageOf(error), isDamaged: error instanceof DamagedBackupError };
  }
}

async function make(
  { place: settings, name }: BackupJob,
  openKv: () => Promise<Deno.Kv>,
  signal: AbortSignal,
): Promise<JobResult> {
  using place = openPlace(settings);
  using kv = await openKv();
  const write = (output: WritableStream<Uint8Array>) => writeSharedArchive({ kv, output, signal });
  return { made: await storeBackup(place, name, signal, write) };
}

async function prove(
  { place: settings, name, expected }: BackupJob,
  signal: AbortSignal,
): Promise<JobResult> {
  using place = openPlace(settings);
  const opened = await place.store.open(name);
  if (opened === undefined) {
    throw new DamagedBackupError(`The backup ${name} is not in ${place.name} any more`);
  }
  const digest = new Digest(opened.stream);
  const { sentinel } = await checkArchive(digest.stream, signal);
  if (expected !== undefined && digest.sha256 !== expected.sha256) {
    throw new DamagedBackupError(`The backup ${name} does not have the bytes that were stored`);
  }
  expectSentinelOf(name, sentinel);
  return { proven: { files: 0, isReadBack: true } };
}
