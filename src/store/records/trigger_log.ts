/**
 * The trigger log: per trigger, the requests that made no run with the reason, the actions, HTTP requests and
 * executions that failed with the error, and the deliveries that differ from those before. Entries of each kind
 * are bounded per trigger and minute and over all triggers, and written in batches, so a flood of bad requests costs neither the disk nor the launches, and hides no failure.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import { lowestId, newId } from "../../platform/ids.ts";
import type { Write } from "../commit/change.ts";
import { type Listed, listNewest, type Page } from "../read/lists.ts";
import { type FoundEntry, isUndecodable, scan, upTo } from "../read/scan.ts";
import { recordBytes } from "./record_size.ts";
import type { Store } from "../store.ts";
import {
  entryWrites,
  NO_RUN_OUTCOMES,
  type NoRunOutcome,
  type OmittedEvent,
  outcomeOf,
  type TriggerLogEntry,
  type TriggerLogEvent,
} from "./trigger_log_entries.ts";
import { idsBehind } from "./triggers.ts";

export type { TriggerLogEntry } from "./trigger_log_entries.ts";

/** Limit of the entries of a kind for one trigger and minute. The rest is counted. */
export const ENTRIES_PER_TRIGGER_MINUTE = 60;
/**
 * Limit of the entries of a kind for all triggers together and one minute. Counts of omitted entries are
 * among the refusals.
 */
export const ENTRIES_PER_MINUTE = 1_200;
/** Limit of the counts among these, so that entries find room too. */
export const COUNTS_PER_MINUTE = 300;
const FLUSH_INTERVAL_MS = 200;
const MINUTE_MS = 60_000;

type Happening = Exclude<TriggerLogEvent, OmittedEvent>;

/**
 * The kinds of entries. They are limited apart, since strangers cause refusals and must not hide the rest
 * from the trigger's owner.
 */
type EntryKind =
  | NoRunOutcome
  | "action_failed"
  | "http_request_failed"
  | "execution_failed"
  | "shape_changed"
  | "pace_incomplete"
  | "handshake";

/** The trigger that an entry is about, and the project that it belongs to now. */
export interface LogOwner {
  id: string;
  project: string;
}

/** Numbers of entries of each kind; 0 where absent. */
type Counts = Partial<Record<EntryKind, number>>;

/** The entries of one trigger, in one project, in one minute. */
interface Budget {
  owner: LogOwner;
  written: Counts;
  omitted: Counts;
}

/** Writes and reads trigger logs. */
export class TriggerLog {
  readonly #store: Store;
  readonly #clock: Clock;
  /** In the order in which counts of what was left out are written. */
  readonly #budgets = new Map<string, Budget>();
  #minute = 0;
  /** Entries of all triggers that were written in this minute. */
  #written: Counts = {};
  #unwritten: Write[][] = [];
  /** Each resolves when an entry has been added. */
  readonly #expected = new Set<Promise<void>>();
  /** Cancels the timer of the next flush. */
  #cancelFlush: (() => void) | undefined;
  #isClosed = false;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Returns true when there is room for another entry of this kind and trigger. Otherwise the entry is
   * counted as omitted. Ask before gathering the facts of an entry.
   */
  hasRoom(owner: LogOwner, kind: EntryKind): boolean {
    const { written } = this.#budgetOf(owner);
    const room = (written[kind] ?? 0) < ENTRIES_PER_TRIGGER_MINUTE &&
      (this.#written[kind] ?? 0) < ENTRIES_PER_MINUTE;
    if (!room) this.omit(owner, kind);
    return room;
  }

  /** Counts an entry of this kind and trigger as omitted. */
  omit(owner: LogOwner, kind: EntryKind): void {
    count(this.#budgetOf(owner).omitted, kind);
  }

  /**
   * Adds an entry, unless there is no room for it. It is written shortly after.
   *
   * @returns its id; undefined when there is no room
   */
  add(owner: LogOwner, event: Happening): string | undefined {
    const kind = event.kind === "refused" || event.kind === "repeat"
      ? outcomeOf(event)
      : event.kind;
    if (!this.hasRoom(owner, kind)) return undefined;
    count(this.#budgetOf(owner).written, kind);
    count(this.#written, kind);
    return this.#write(owner, event);
  }

  /** Lets those who read the log, and a stop, wait for an entry that is added when a promise resolves. */
  expect(added: Promise<void> | undefined): void {
    if (added === undefined) return;
    this.#expected.add(added);
    void added.finally(() => this.#expected.delete(added));
  }

  /**
   * Writes down how much was left out of the minutes that are over. Where that is too much for one
   * minute, the rest is written in the next. Call it each minute.
   */
  turn(): void {
    const minute = Math.floor(this.#clock.now() / MINUTE_MS);
    if (this.#minute === minute) return;
    this.#minute = minute;
    this.#written = {};
    this.#writeCounts(COUNTS_PER_MINUTE);
  }

  /** Writes what has been added. It is stored when the promise resolves, whoever began to write it. */
  async flush(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    await Promise.all(this.#expected);
    const entries = this.#unwritten;
    this.#unwritten = [];
    await Promise.all(entries.map((writes) => this.#store.intake.write(writes)));
    // Changes are stored in their order: after this empty one, what an earlier flush began is stored.
    await this.#store.intake.write([]);
  }

  /** Counts what was left out into the logs, and writes everything that has been added. What is added later is lost. */
  async close(): Promise<void> {
    await Promise.all(this.#expected);
    this.#writeCounts(Infinity);
    this.#isClosed = true;
    await this.flush();
  }

  /** One page of a trigger's log, newest first, entries that it does not show among them. */
  async list(triggerId: string, page: Page): Promise<Listed<TriggerLogEntry>> {
    // What cannot be stored keeps nobody from reading what is.
    await this.flush().catch(() => {});
    return await listNewest(this.#store, ["trigger_log", triggerId], page);
  }

  #budgetOf({ id, project }: LogOwner): Budget {
    this.turn();
    const name = `${id} ${project}`;
    let budget = this.#budgets.get(name);
    if (budget === undefined) {
      this.#budgets.set(name, budget = { owner: { id, project }, written: {}, omitted: {} });
    }
    return budget;
  }

  #write({ id, project }: LogOwner, event: TriggerLogEvent): string {
    const now_ms = this.#clock.now();
    const entry = { id: newId(now_ms), time: new Date(now_ms).toISOString(), project, ...event };
    if (this.#isClosed) return entry.id;
    this.#unwritten.push(entryWrites(id, entry));
    this.#cancelFlush ??= this.#clock.after(FLUSH_INTERVAL_MS, () => {
      this.flush().catch(() => {
        // The committer's failure is counted where it happens; a lost log entry must not end the service.
      });
    });
    return entry.id;
  }

  /** Resets all budgets, except the counts that cannot be written yet. */
  #writeCounts(counts_max: number): void {
    const budgets = [...this.#budgets];
    this.#budgets.clear();
    let written = 0;
    for (const [name, { owner, omitted }] of budgets) {
      if (Object.keys(omitted).length === 0) continue;
      if (written++ < counts_max) this.#write(owner, omittedEvent(omitted));
      else this.#budgets.set(name, { owner, written: {}, omitted });
    }
    this.#written.refused = (this.#written.refused ?? 0) + Math.min(written, counts_max);
  }
}

function count(counts: Counts, kind: EntryKind): void {
  counts[kind] = (counts[kind] ?? 0) + 1;
}

function omittedEvent(
  {
    action_failed = 0,
    http_request_failed = 0,
    execution_failed = 0,
    shape_changed = 0,
    pace_incomplete = 0,
    handshake = 0,
    ...deliveries
  }: Counts,
): OmittedEvent {
  const failed = action_failed + http_request_failed + execution_failed;
  const others = failed + shape_changed + pace_incomplete + handshake;
  const shown = NO_RUN_OUTCOMES.filter((outcome) => outcome !== "repeat")
    .reduce((sum, outcome) => sum + (deliveries[outcome] ?? 0), others);
  return { kind: "omitted", count: shown, deliveries };
}

/** The ids of the triggers that have entries, those of triggers that are gone among them. */
export function loggedTriggers(store: Store): AsyncGenerator<string> {
  return idsBehind(store, "trigger_log");
}

/** Reads the ids of a trigger's entries that were made before a time, at most `limit`, and their bytes. */
export async function countOldEntries(
  store: Store,
  triggerId: string,
  { before_ms, limit }: { before_ms: number; limit: number },
): Promise<{ id: string; bytes: number }[]> {
  const [prefix, end] = [["trigger_log", triggerId], lowestId(before_ms)];
  const found = await Array.fromAsync(store.kv.list<unknown>(upTo(prefix, end), { limit }))
    .catch(async (error) => {
      if (!isUndecodable(error)) throw error;
      // It reads younger ones, too.
      const entries: FoundEntry[] = [];
      for await (const entry of scan(store.kv, prefix)) {
        if (entries.length === limit || String(entry.key[2]) >= end) break;
        entries.push(entry);
      }
      return entries;
    });
  return found.map(({ key, value }) => ({
    id: String(key[2]),
    bytes: recordBytes(Object(value)),
  }));
}
