/**
 * A look at the retention: the records that the next cleanup would remove, by kind. It removes nothing.
 *
 * @module
 */
import { findNeeded } from "../pipelines/cleanup.ts";
import type { Clock } from "../platform/clock.ts";
import { idTime } from "../platform/ids.ts";
import { withPause } from "../store/commit/chunked.ts";
import { recordBytes } from "../store/records/record_size.ts";
import { countOldEntries, loggedTriggers } from "../store/records/trigger_log.ts";
import type { Store } from "../store/store.ts";
import { PAST, type ReadPast, type Terms } from "./past_retention.ts";
import { type Cutoffs, RetentionCutoffs, type TrialRetention } from "./retention.ts";

/** The kinds of records. */
export const RETAINED_KINDS = [
  "runs",
  "pipelines",
  "executions",
  "http_requests",
  "log_entries",
  "payloads",
  "logs",
  "outputs",
] as const;

/** The time that a look may take. What it has not seen by then it leaves out. */
const LOOK_MS = 5_000;
/** Log entries that are read of one trigger. */
const ENTRIES_MAX = 10_000;

/** A record that would be removed. */
interface PastRecord {
  id: string;
  trigger_id: string;
  /** RFC 3339. */
  created_at: string;
  /** Its bytes, with its payload or its outputs; those of logs are not counted. */
  bytes: number;
}

/** The records of one kind that would be removed. */
export interface PastKind {
  kind: typeof RETAINED_KINDS[number];
  count: number;
  bytes: number;
  /** The time of the oldest, RFC 3339. */
  oldest?: string;
  /** The oldest of them. */
  records: PastRecord[];
}

/** The parts and the terms of a look. */
interface LookOptions {
  store: Store;
  clock: Clock;
  /** Aborted when the service stops. */
  signal: AbortSignal;
  retention_days: number;
  trial: TrialRetention | undefined;
  /** Records that each kind names, at most. */
  limit: number;
  /** Tells whether a record is asked for. */
  isWanted(record: { trigger_id: string; project: string }): boolean;
  /** Tells whether the log of a trigger is asked for. */
  isWantedLog(triggerId: string): Promise<boolean>;
}

/** A record of any kind, with what may go with it. */
interface PastOfAnyKind {
  id: string;
  trigger_id: string;
  project: string;
  payload?: { size: number };
  body?: Uint8Array;
  outputs?: readonly { size: number }[];
}

const DAY_MS = 24 * 60 * 60_000;

/** Lists what is past its retention. `complete` is false where the time was too short to see all. */
export async function lookAtRetention(
  { store, clock, signal, retention_days, trial, limit, isWanted, isWantedLog }: LookOptions,
): Promise<{ complete: boolean; kinds: PastKind[] }> {
  const until_ms = clock.steady() + LOOK_MS;
  const isOver = () => signal.aborted || clock.steady() >= until_ms;
  const default_ms = retention_days * DAY_MS;
  const cutoffs = await RetentionCutoffs.begin(store, {
    now_ms: clock.now(),
    default_ms,
    trial,
    signal,
  });
  const needed = await findNeeded(store, signal, (trigger) => cutoffs.add(trigger));
  const terms: Terms = { cutoffs, needed };
  const seen = new Seen(limit);
  for (const kind of RETAINED_KINDS) {
    if (kind === "log_entries") {
      await lookAtLogs(store, { cutoffs: cutoffs.records, isWantedLog, seen, isOver });
      continue;
    }
    const readPage: ReadPast<PastOfAnyKind> = PAST[kind];
    let after: string | undefined;
    do {
      const page = await withPause(() => readPage(store, terms, after));
      for (const record of page.found) {
        if (isWanted(record)) seen.add(kind, record, sizeOf(kind, record));
      }
      after = page.next;
    } while (after !== undefined && !isOver());
    if (after !== undefined) seen.isCut = true;
  }
  return { complete: !seen.isCut, kinds: seen.kinds };
}

/** Counts what is seen. */
class Seen {
  readonly #limit: number;
  readonly kinds: PastKind[] = RETAINED_KINDS.map((kind) => ({
    kind,
    count: 0,
    bytes: 0,
    records: [],
  }));
  isCut = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(
    kind: PastKind["kind"],
    { id, trigger_id }: { id: string; trigger_id: string },
    bytes: number,
  ): void {
    const counts = this.kinds.find((each) => each.kind === kind);
    if (counts === undefined) return;
    const created_at = new Date(idTime(id)).toISOString();
    counts.count++;
    counts.bytes += bytes;
    if (counts.oldest === undefined || created_at < counts.oldest) counts.oldest = created_at;
    if (counts.records.length < this.#limit) {
      counts.records.push({ id, trigger_id, created_at, bytes });
    }
  }
}

async function lookAtLogs(
  store: Store,
  { cutoffs, isWantedLog, seen, isOver }: {
    cutoffs: Pick<Cutoffs, "of">;
    isWantedLog: LookOptions["isWantedLog"];
    seen: Seen;
    isOver(): boolean;
  },
): Promise<void> {
  for await (const trigger_id of loggedTriggers(store)) {
    if (isOver()) {
      seen.isCut = true;
      return;
    }
    if (!await isWantedLog(trigger_id)) continue;
    const options = { before_ms: await cutoffs.of(trigger_id), limit: ENTRIES_MAX };
    const entries = await withPause(() => countOldEntries(store, trigger_id, options));
    if (entries.length === ENTRIES_MAX) seen.isCut = true;
    for (const { id, bytes } of entries) seen.add("log_entries", { id, trigger_id }, bytes);
  }
}

/** Returns the bytes of a record, and of the payload or the outputs that go with it; or those of what goes alone. */
function sizeOf(
  kind: PastKind["kind"],
  { payload, body: _inPayload, outputs = [], ...record }: PastOfAnyKind,
): number {
  const files = outputs.reduce((sum, { size }) => sum + size, 0);
  if (kind === "logs") return 0;
  if (kind === "outputs") return files;
  if (kind === "payloads") return payload?.size ?? 0;
  return recordBytes({ ...record, payload, outputs }) + (payload?.size ?? 0) + files;
}
