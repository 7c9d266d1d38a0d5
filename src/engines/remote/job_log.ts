/**
 * The log of a job: what its command prints, as its agent sends it, and events. It lies in the database until
 * the job has ended, and then in the artifact store.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { artifactKeys } from "../../artifacts/keys.ts";
import type { ArtifactStore } from "../../artifacts/store.ts";
import { ConflictError } from "../../platform/errors.ts";
import type { Write } from "../../store/commit/change.ts";
import { getJob, type Job, jobLog, logWrites } from "../../store/records/jobs.ts";
import type { Store } from "../../store/store.ts";
import type { LogOptions, LogPage } from "../engine.ts";
import { readArchivedLog } from "../shared/archived_log.ts";
import {
  encodeChunk,
  encodeLine,
  isCutLine,
  type LogRecord,
  parseRecord,
  type StoredLine,
} from "../shared/log_format.ts";
import { pageOfRecords } from "../shared/log_reader.ts";
import type { SecretMasker } from "../shared/secret_masker.ts";
import type { JobBeat } from "./desk.ts";
import { splitLines } from "./whole_lines.ts";

/** Room for the events at the end of a full log. */
const RESERVE_BYTES = 4 * 1024;
const FULL = "The log is full: what is printed from here on is left out";

/** New output of a command that is to be stored. */
export interface TakenOutput {
  writes: Write[];
  /** Whole lines, that metadata is looked for in. */
  content: Uint8Array[];
}

/** Output that an agent sends. */
interface NewOutput extends Pick<JobBeat, "stream" | "offset" | "bytes" | "isLast"> {
  /** When it was printed, RFC 3339. */
  time: string;
}

/**
 * Takes output into a job's log. Bytes that are stored already are passed over. Bytes behind a gap are not taken.
 *
 * @param job its offsets move on
 * @param limits the size limit of the log, and what masks secrets in all that is kept
 */
export function takeOutput(
  job: Job,
  { stream, offset, bytes, isLast = false, time }: NewOutput,
  { bytesMax, masker }: { bytesMax: number; masker?: SecretMasker | undefined },
): TakenOutput {
  const taken: TakenOutput = { writes: [], content: [] };
  const known = job.stored[stream] - offset;
  if (known < 0 || known > bytes.length) return taken;
  const { pieces, isInLongLine } = splitLines(bytes.subarray(known), {
    isInLongLine: job.in_long_line.includes(stream),
    isLast,
  });
  const before = job.stored[stream];
  for (const { content: printed, end } of pieces) {
    job.stored[stream] = before + end;
    if (printed.length === 0) continue;
    const content = masker?.mask(printed, { isCut: isCutLine(printed) }) ?? printed;
    taken.content.push(content);
    const record = encodeChunk({ time, stream, end: job.stored[stream] }, content);
    taken.writes.push(...addOutput(job, record, { time, bytesMax }));
  }
  job.in_long_line = job.in_long_line.filter((each) => each !== stream);
  if (isInLongLine) job.in_long_line.push(stream);
  return taken;
}

function addOutput(
  job: Job,
  record: Uint8Array,
  { time, bytesMax }: { time: string; bytesMax: number },
): Write[] {
  if (job.is_log_full) return [];
  if (job.log_bytes + record.length <= bytesMax - RESERVE_BYTES) return logWrites(job, [record]);
  job.is_log_full = true;
  return logWrites(job, [encodeLine({ time, stream: "event", message: FULL })]);
}

/** Returns the writes that add an event to a job's log. */
export function eventWrites(job: Job, line: Omit<StoredLine, "stream">): Write[] {
  return logWrites(job, [encodeLine({ ...line, stream: "event" })]);
}

/** A job whose log is read. */
type LoggedJob = Pick<Job, "id" | "log_bytes">;

/** Reads a page of the log of a job; of one that has ended and is removed from the database, as of others. */
export async function readJobLog(
  job: LoggedJob & Pick<Job, "is_archived">,
  { store, artifacts }: { store: Store; artifacts: ArtifactStore },
  options?: LogOptions,
): Promise<LogPage> {
  if (!job.is_archived) {
    const page = await pageOfRecords((offset) => recordsOf(store, job, offset), options);
    const now = await getJob(store, job.id);
    // Otherwise it may have been removed from the database during the read.
    if (now !== undefined && !now.is_archived) return page;
  }
  return await readArchivedLog(artifacts, job.id, options);
}

/** Yields the records of a log that is in the database. */
export async function* recordsOf(
  store: Store,
  job: LoggedJob,
  offset = 0,
): AsyncGenerator<LogRecord> {
  for await (const bytes of jobLog(store, job, offset)) {
    const record = parseRecord(bytes);
    const { length } = bytes;
    yield record?.length === length ? record : { length, isUnknown: true };
  }
}

/**
 * Stores the log of an ended job in the artifact store.
 *
 * @throws {ConflictError} when the database does not have all of it any more
 */
export async function archiveLog(
  job: Job,
  { store, artifacts }: { store: Store; artifacts: ArtifactStore },
): Promise<void> {
  if (job.log_bytes === 0) return;
  const sha256 = createHash("sha256");
  let size = 0;
  for await (const bytes of jobLog(store, job)) {
    sha256.update(bytes);
    size += bytes.length;
  }
  // An instance that does not know yet that another one leads must not put a part in place of the whole.
  if (size < job.log_bytes) {
    throw new ConflictError(`Cannot archive the log of ${job.id}: another instance has removed it`);
  }
  const content = ReadableStream.from(jobLog(store, job)) as ReadableStream<
    Uint8Array<ArrayBuffer>
  >;
  await artifacts.put(artifactKeys.log(job.id), content, { size, sha256: sha256.digest("hex") });
}
