/**
 * The records of jobs: what a remote engine makes of executions. A job has a log and outputs, which lie
 * beside its record until its execution has ended.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { type FoundEntry, logDamage, scan, whole } from "../read/scan.ts";
import { recordOf } from "../read/lists.ts";
import type { Store } from "../store.ts";
import type { OutputFile } from "./executions.ts";
import { recordWrite } from "./record_size.ts";

/** Keys that are removed in one commit. */
const REMOVED_AT_ONCE = 200;
const SPACE = 0x20;
const LINE_BREAK = 0x0a;

/** The job of one execution. All times are RFC 3339. */
export interface Job {
  /** The execution's. */
  id: string;
  /** The type of its engine. */
  engine: string;
  /** The number of times that the execution was run again. Each has a job of its own in the engine. */
  attempt: number;
  /**
   * `planned` is to be submitted. `submitting` may be known to the engine. `submitted` is. `closed` is not
   * wanted any more: its execution has ended.
   */
  state: "planned" | "submitting" | "submitted" | "closed";
  /** The number of times that it was submitted, since it was planned. */
  submissions: number;
  /** When it was last submitted. */
  submitted_at?: string;
  /** The engine's own id. */
  ref?: string;
  /** The engine's error when it was last submitted. */
  launch_error?: string;
  /**
   * Set once the engine has said that it made a job for the last submission, until an agent has the claim. Without
   * it, the engine's job of this name may be one that a backup did not have, as also an agent with an unknown token
   * tells: how such a job ends says nothing of this one.
   */
  is_own?: true;
  /** Hashes of the tokens that may claim it, newest last. After the claim that of the claimer. */
  tokens: string[];
  claim?: { id: string; host: string; folder: string; at: string };
  /** When its agent was last heard, at most some seconds ago. */
  heard_at?: string;
  /** When its agent was asked to stop. */
  stop_at?: string;
  /** The lengths of what is stored of each stream. */
  stored: { stdout: number; stderr: number };
  /** The streams of which a line is under way that is too long to be kept. */
  in_long_line: ("stdout" | "stderr")[];
  /** The length of the log. */
  log_bytes: number;
  is_log_full?: true;
  /** The end that its agent reported. */
  end?: {
    at: string;
    /** Tells the report from any other; absent from records of before. */
    digest?: string;
    exit_code?: number;
    cause?: string;
    reason?: string;
    /** The number of outputs that could not be uploaded. */
    missing: number;
    /** Some of what is in the outputs folder and no output. */
    left_out: string[];
  };
  closed_at?: string;
  /** Set once the engine was asked to end it. */
  is_cancelled?: true;
  /** Set once the engine has nothing of it any more. */
  is_removed?: true;
  /** Set once the log is in the artifact store. */
  is_archived?: true;
}

/** Returns true for a job whose end is known: nobody acts for it any more. */
export function isJobOver({ state, end }: Pick<Job, "state" | "end">): boolean {
  return state === "closed" || end !== undefined;
}

/** Returns the hash by which a token is stored. */
export function hashOfToken(token: string): string {
  return hash("sha256", token);
}

/** Returns the write that stores a job. */
export function jobWrite(job: Job): Write {
  return recordWrite(keys.job(job.id), job);
}

/** Reads the job of an execution; undefined when it has none, or its record is damaged. */
export async function getJob(store: Store, executionId: string): Promise<Job | undefined> {
  const key = keys.job(executionId);
  const value = await store.reads.read(key);
  return value === null ? undefined : recordOf<Job>({ key, value });
}

/** Lists the jobs of an engine. */
export async function listJobs(store: Store, engine: string): Promise<Job[]> {
  const jobs: Job[] = [];
  for await (const entry of scan(store.kv, ["job"], { batchSize: 500 })) {
    const job = recordOf<Job>(entry);
    if (job?.engine === engine) jobs.push(job);
  }
  return jobs;
}

/** Returns the writes that add records to a job's log, and counts their bytes in the job. */
export function logWrites(job: Job, records: readonly Uint8Array[]): Write[] {
  return records.map((value) => {
    const key = keys.jobLog(job.id, job.log_bytes);
    job.log_bytes += value.length;
    return { key, value, bytes: value.length + 64 };
  });
}

/**
 * Yields the records of a job's log from an offset on, which is the start of one. In place of what is damaged or missing
 * before the next one comes an empty line of that length, which is no record.
 */
export async function* jobLog(
  { kv }: Store,
  { id, log_bytes }: Pick<Job, "id" | "log_bytes">,
  offset = 0,
): AsyncGenerator<Uint8Array> {
  let last: FoundEntry | undefined;
  const before = keys.jobLog(id, offset - 1);
  for await (const entry of scan(kv, ["job_log", id], { last: before, batchSize: 16 })) {
    if (last) yield* upToNext(last, Number(entry.key[2]));
    last = entry;
  }
  // What was added since the job was read ends behind that.
  if (last) yield* upToNext(last, Math.max(log_bytes, Number(last.key[2]) + lengthOf(last)));
}

function* upToNext({ key, value }: FoundEntry, next: number): Generator<Uint8Array> {
  const length = next - Number(key[2]);
  const isWhole = value instanceof Uint8Array && value.length <= length;
  if (isWhole) yield value;
  const missing = isWhole ? length - value.length : length;
  if (missing === 0) return;
  logDamage(key);
  yield new Uint8Array(missing).fill(SPACE).with(missing - 1, LINE_BREAK);
}

function lengthOf({ value }: FoundEntry): number {
  return value instanceof Uint8Array ? value.length : 0;
}

/** Returns the write that lists an uploaded output. */
export function jobOutputWrite(executionId: string, output: OutputFile): Write {
  return recordWrite(keys.jobOutput(executionId, hash("sha256", output.path)), output);
}

/** Lists the outputs that a job has uploaded, by path. */
export async function jobOutputs({ kv }: Store, executionId: string): Promise<OutputFile[]> {
  // One that is damaged is missing for its agent, which brings it again.
  const outputs = await Array.fromAsync(
    scan(kv, ["job_output", executionId]),
    (entry) => whole(entry, isOutput) ?? [],
  );
  return outputs.flat().sort((one, other) => one.path < other.path ? -1 : 1);
}

function isOutput(value: unknown): value is OutputFile {
  // Only outputs are stored under these keys.
  return typeof Object(value).path === "string";
}

/** Removes the log of a job from the database. */
export async function removeJobLog(store: Store, executionId: string): Promise<void> {
  await removeAll(store, ["job_log", executionId]);
}

/** Removes the list of a job's outputs. */
export async function removeJobOutputs(store: Store, executionId: string): Promise<void> {
  await removeAll(store, ["job_output", executionId]);
}

/** Removes a job, and its log and its list of outputs before. */
export async function removeJob(store: Store, executionId: string): Promise<void> {
  await removeJobLog(store, executionId);
  await removeJobOutputs(store, executionId);
  await store.committer.write([{ key: keys.job(executionId) }]);
}

async function removeAll({ kv, committer }: Store, prefix: Deno.KvKey): Promise<void> {
  let writes: Write[] = [];
  for await (const { key } of scan(kv, prefix)) {
    writes.push({ key });
    if (writes.length < REMOVED_AT_ONCE) continue;
    await committer.write(writes);
    writes = [];
  }
  if (writes.length > 0) await committer.write(writes);
}
