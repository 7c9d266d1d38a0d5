/**
 * The pipelines, executions, HTTP requests and notifications of a shared database, as a backup reads them: what has
 * not ended, or was changed meanwhile, is read at the end, each with all of its records.
 *
 * @module
 */
import { UnavailableError } from "../../platform/errors.ts";
import { WORK, type WorkKind } from "./families.ts";
import {
  inGroups,
  type LiveDatabase,
  type ReadRecord,
  readTogether,
  recordsOf,
} from "./live_database.ts";
import type { LiveRuns } from "./live_runs.ts";
import type { StoredRecord } from "./record_chunks.ts";

/** The longest log of a job that is read with its record, and held in memory. It only grows: others are read later. */
const LOG_BYTES_MAX = 1024 * 1024;
/** Times that one piece of work is read that keeps changing. */
const READS_MAX = 50;

/** The facts of a record that others are found by; each kind has some of them. */
interface WorkFacts {
  run_id?: string;
  trigger_id?: string;
  pipeline_id?: string;
  /** The execution that this is an attempt of. */
  attempt_of?: string;
  /** The last attempt of an execution. */
  attempt_id?: string;
  attempts?: { execution_id: string }[];
  nodes?: { execution_id?: string }[];
  /** The length of a job's log. */
  log_bytes?: number;
}

/** Reads the work. */
export class LiveWork {
  readonly #database: LiveDatabase;
  readonly #runs: LiveRuns;
  /** The executions of each pipeline that was changed meanwhile, as its record in the copy names them. */
  readonly #nodes = new Map<string, ReadonlySet<string>>();
  /** The lengths of the logs that are read later, as the jobs' records in the copy have them. */
  readonly #longLogs = new Map<string, number>();

  constructor(database: LiveDatabase, runs: LiveRuns) {
    this.#database = database;
    this.#runs = runs;
  }

  /** Reads all of it. */
  async *read(): AsyncGenerator<StoredRecord> {
    const { launched } = this.#runs;
    for (const work of WORK) {
      const named = work.kind in launched ? launched[work.kind as keyof typeof launched] : [];
      const moving = new Set<string>(named);
      for (const id of work.kind === "execution" ? this.#ofPipelines() : []) moving.add(id);
      yield* this.#readKind(work, moving);
    }
  }

  *#ofPipelines(): Generator<string> {
    for (const ids of this.#nodes.values()) yield* ids;
  }

  /** @param moving the ids of what was launched meanwhile, as far as it is known */
  async *#readKind(work: WorkKind, moving: Set<string>): AsyncGenerator<StoredRecord> {
    const open = new Set<string>();
    for await (const { key } of recordsOf(this.#database, [work.open])) open.add(String(key[1]));
    /** The ids whose records are not read with those that are unchanged. */
    const later = new Set(open);
    for await (const record of recordsOf(this.#database, [work.kind])) {
      const id = String(record.key[1]);
      if (record.versionstamp <= this.#database.since && !open.has(id)) {
        moving.delete(id);
        yield record;
        continue;
      }
      later.add(id);
      // An attempt is read with its execution.
      moving.add(factsOf(record).attempt_of ?? id);
    }
    for (const id of open) moving.add(id);
    for (const id of moving) later.add(id);
    yield* inGroups(moving, (id) => this.#readMoving(work, id, later));
    for (const kind of [work.open, ...work.beside, ...work.lists]) {
      for await (const record of recordsOf(this.#database, [kind])) {
        const id = String(record.key[1]);
        const isOfLongLog = kind === "job_log" &&
          Number(record.key[2]) < (this.#longLogs.get(id) ?? 0);
        const isUnchanged = record.versionstamp <= this.#database.since && !later.has(id);
        if (isUnchanged || isOfLongLog) yield record;
      }
    }
  }

  async #readMoving(work: WorkKind, id: string, later: Set<string>): Promise<StoredRecord[]> {
    const { records, facts } = await this.#readTogether(work, id);
    if (facts === undefined || facts.attempt_of !== undefined || await this.#isLeftOut(id, facts)) {
      return [];
    }
    if (facts.nodes !== undefined) {
      const ids = facts.nodes.flatMap(({ execution_id = [] }) => execution_id);
      this.#nodes.set(id, new Set(ids));
    }
    const earlier = (facts.attempts ?? []).map(({ execution_id }) => execution_id)
      .filter((each) => later.has(each) && each !== facts.attempt_id);
    for (const each of earlier) records.push(...(await this.#readTogether(work, each)).records);
    return records;
  }

  /** Returns true for work that the records in the copy do not know. */
  async #isLeftOut(id: string, { run_id, trigger_id, pipeline_id }: WorkFacts): Promise<boolean> {
    if (run_id === undefined || trigger_id === undefined) return false;
    if (await this.#runs.isLeftOut(run_id, trigger_id)) return true;
    if (pipeline_id === undefined) return false;
    const nodes = this.#nodes.get(pipeline_id);
    if (nodes !== undefined) return !nodes.has(id);
    // One that was launched since the pipelines were read.
    const [pipeline] = await readTogether(this.#database, [["pipeline", pipeline_id]]);
    return (pipeline?.versionstamp ?? "") > this.#database.since;
  }

  /** Reads the records of one piece of work, and of the last attempt at it, as they were at one moment. */
  async #readTogether(
    work: WorkKind,
    id: string,
  ): Promise<{ records: ReadRecord[]; facts: WorkFacts | undefined }> {
    const { signal } = this.#database;
    let attempt: string | undefined;
    for (let reads = 0; reads < READS_MAX; reads++) {
      signal.throwIfAborted();
      const ids = attempt === undefined ? [id] : [id, attempt];
      const looked = ids.flatMap((each) =>
        [work.kind, work.open, ...work.beside].map((kind): Deno.KvKey => [kind, each])
      );
      const heads = await readTogether(this.#database, looked);
      const record = heads.find(({ key }) => key[0] === work.kind && key[1] === id);
      if (record === undefined) return { records: [], facts: undefined };
      const facts = factsOf(record);
      if (facts.attempt_id !== attempt) {
        attempt = facts.attempt_id;
        continue;
      }
      const parts: ReadRecord[] = [];
      for (const each of ids) {
        const isLong = this.#noteLongLog(each, heads);
        for (const kind of work.lists) {
          if (kind === "job_log" && isLong) continue;
          parts.push(...await Array.fromAsync(recordsOf(this.#database, [kind, each])));
        }
      }
      const isSame = work.lists.length === 0 ||
        versionsOf(await readTogether(this.#database, looked)) === versionsOf(heads);
      if (isSame) return { records: [...heads, ...parts], facts };
    }
    throw new UnavailableError(
      `Cannot back up the database: the ${work.kind} ${id} kept changing while it was read`,
      1,
    );
  }

  /** Notes how long the log of a job is, where it is not read with it. */
  #noteLongLog(id: string, heads: readonly ReadRecord[]): boolean {
    const job = heads.find(({ key }) => key[0] === "job" && key[1] === id);
    const { log_bytes = 0 } = job === undefined ? {} : factsOf(job);
    if (log_bytes <= LOG_BYTES_MAX) return this.#longLogs.delete(id) && false;
    this.#longLogs.set(id, log_bytes);
    return true;
  }
}

function factsOf({ value }: ReadRecord): WorkFacts {
  return Object(value);
}

function versionsOf(records: readonly ReadRecord[]): string {
  return records.map(({ key, versionstamp }) => `${key.join(" ")} ${versionstamp}`).join("\n");
}
