/**
 * The records of a database that several instances share, read while they go on. Such a database gives no view of one
 * moment: each read shows its own. So records are read in an order, and together, such that the copy holds together:
 *
 * - A mark is stored first. What was not changed since is in the copy as it was then.
 * - Runs are read before the work that they launch, and pipelines before their executions. What a record in the copy
 *   names was there when the record was read, and still is. An execution that a run has launched since is found when
 *   the run is performed again: its id comes of the run's.
 * - The records of one run, or of one piece of work, that were changed since the mark are read together, at the end:
 *   a run is pending, waits for its turn, or has ended, and is not two of these.
 * - What was accepted since the mark is left out, with what it has launched, unless it was seen to be pending.
 * - The configuration is read again until nothing of it has changed meanwhile.
 *
 * Retention must remove nothing meanwhile. A record that cannot be decoded is left out: all others are in the copy.
 *
 * @module
 */
import { hash } from "node:crypto";
import { UnavailableError } from "../../platform/errors.ts";
import { keys } from "../../store/keys.ts";
import { scan } from "../../store/read/scan.ts";
import { CONFIGURATION, META_OF_INSTANCES, OF_INSTANCES, OF_RUNS, WORK } from "./families.ts";
import { type LiveDatabase, type ReadRecord, recordsOf } from "./live_database.ts";
import { LiveRuns } from "./live_runs.ts";
import { LiveWork } from "./live_work.ts";
import type { StoredRecord } from "./record_chunks.ts";

/** The records of the kind `meta` that are changed with others. */
const META_COMPARED: ReadonlySet<unknown> = new Set(["registry", "login_providers"]);
/** Times that the configuration is read. */
const CONFIGURATION_READS_MAX = 20;

/** Stores the mark, and reads all records of the database. */
export async function* liveRecords(
  kv: Deno.Kv,
  parts: Pick<LiveDatabase, "signal" | "onDamage">,
): AsyncGenerator<StoredRecord> {
  const { versionstamp: since } = await kv.set(keys.backupMark(), crypto.randomUUID());
  const database: LiveDatabase = { kv, since, ...parts };
  const runs = new LiveRuns(database);
  yield* runs.read();
  const read = new Set<string>([...OF_INSTANCES, ...CONFIGURATION, ...LiveRuns.KINDS]);
  for (const kind of WORK) {
    for (const each of [kind.kind, kind.open, ...kind.beside, ...kind.lists]) read.add(each);
  }
  yield* new LiveWork(database, runs).read();
  yield* ofRuns(database, runs);
  for (const [kind] of OF_RUNS) read.add(kind);
  yield* unrelated(database, runs, read);
  yield* configuration(database);
}

/** Reads what lists runs, and parts of them. That of runs that were changed was read with them. */
async function* ofRuns(database: LiveDatabase, runs: LiveRuns): AsyncGenerator<StoredRecord> {
  for (const [kind, place] of OF_RUNS) {
    for await (const record of recordsOf(database, [kind])) {
      if (record.versionstamp > database.since) continue;
      if (!runs.isMoving(String(record.key[place]))) yield record;
    }
  }
}

/** Reads what is no part of anything else, kind by kind, also kinds that are new here. */
async function* unrelated(
  database: LiveDatabase,
  runs: LiveRuns,
  read: Set<string>,
): AsyncGenerator<StoredRecord> {
  const { kv, since } = database;
  let last: Deno.KvKey = [""];
  for (;;) {
    const { value: next } = await scan(kv, [], { last, batchSize: 1 }).next();
    if (next === undefined) return;
    const kind = String(next.key[0]);
    last = [kind, true];
    if (read.has(kind)) continue;
    for await (const record of recordsOf(database, [kind])) {
      const isNew = record.versionstamp > since;
      // A repeat of a delivery whose run is left out is a launch again.
      const run_id = kind === "delivery" ? Object(record.value).run_id : undefined;
      if (isNew && typeof run_id === "string" && !runs.isMoving(run_id)) continue;
      // A kept request is stored once, with its body.
      if (isNew && (kind === "kept" || kind === "kept_head")) continue;
      yield record;
    }
  }
}

/** Reads the configuration as it was at one moment. */
async function* configuration(database: LiveDatabase): AsyncGenerator<StoredRecord> {
  let before = "";
  for (let reads = 0; reads < CONFIGURATION_READS_MAX; reads++) {
    const found: ReadRecord[] = [];
    for (const kind of CONFIGURATION) {
      for await (const record of recordsOf(database, [kind])) {
        const isOfInstances = kind === "meta" && META_OF_INSTANCES.has(String(record.key[1]));
        if (!isOfInstances) found.push(record);
      }
    }
    // Two reads that found the same commits found what was there between them.
    const compared = found.filter(({ key }) => key[0] !== "meta" || META_COMPARED.has(key[1]));
    const versions = hash("sha256", JSON.stringify(compared.map(versionOf)));
    if (versions === before) return yield* found;
    before = versions;
  }
  throw new UnavailableError(
    "Cannot back up the database: its projects, triggers or tokens kept changing while they were read",
    1,
  );
}

function versionOf({ key, versionstamp }: ReadRecord): string[] {
  return [...key.map(String), versionstamp];
}
