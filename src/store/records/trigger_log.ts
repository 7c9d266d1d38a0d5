/**
 * The trigger log: per trigger, the refused requests with the reason and the failed actions with the
 * error. Entries of each kind are bounded per trigger and minute and over all triggers, and written in
 * batches, so a flood of bad requests costs neither the disk nor the launches, and hides no failure.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import { lowestId, newId } from "../../platform/ids.ts";
import type { Write } from "../change.ts";
import { keys } from "../keys.ts";
import { type Listed, listNewest, type Page } from "../lists.ts";
import { upTo } from "../scan.ts";
import { recordWrite } from "../record_size.ts";
import type { Store } from "../store.ts";
import { idsBehind } from "./triggers.ts";

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

/** One entry of a trigger's log. */
export type TriggerLogEntry = { id: string; time: string } & TriggerLogEvent;

/** The facts about a refused request, beside the reason. */
export interface RequestFacts {
  method: string;
  remote_ip: string;
  /** The headers, values hidden unless they are known to be harmless. */
  headers: Record<string, string>;
  /** Bytes of the body. Absent, as `sha256` is, when the body was too large to be read. */
  size?: number;
  /** SHA-256 of the body, in hex. */
  sha256?: string;
}

export type TriggerLogEvent =
  | {
    kind: "refused";
    /** The type of the condition, or what else refused it. */
    condition: string;
    /** Its place among the trigger's conditions, from 0. */
    condition_index?: number;
    reason: string;
    expected?: string;
    found?: string;
    request: RequestFacts;
  }
  | { kind: "action_failed"; run_id: string; action: string; action_index: number; error: string }
  | { kind: "omitted"; count: number };

type Happening = Exclude<TriggerLogEvent, { kind: "omitted" }>;

/**
 * Numbers of entries of each kind. They are limited apart, since strangers cause the one kind and must not
 * hide the other from the trigger's owner.
 */
type Counts = Record<Happening["kind"], number>;

/** The entries of one trigger in one minute. */
interface Budget {
  written: Counts;
  omitted: number;
}

/** Writes and reads trigger logs. */
export class TriggerLog {
  readonly #store: Store;
  readonly #clock: Clock;
  /** In the order in which counts of what was left out are written. */
  readonly #budgets = new Map<string, Budget>();
  #minute = 0;
  /** Entries of all triggers that were written in this minute. */
  #written = noEntries();
  #unwritten: Write[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Returns true when there is room for another entry of this kind and trigger. Otherwise the entry is
   * counted as omitted. Ask before gathering the facts of an entry.
   */
  hasRoom(triggerId: string, kind: Happening["kind"]): boolean {
    this.turn();
    const budget = this.#budgets.get(triggerId) ?? { written: noEntries(), omitted: 0 };
    this.#budgets.set(triggerId, budget);
    const room = budget.written[kind] < ENTRIES_PER_TRIGGER_MINUTE &&
      this.#written[kind] < ENTRIES_PER_MINUTE;
    if (!room) budget.omitted++;
    return room;
  }

  /** Adds an entry, unless there is no room for it. It is written shortly after. */
  add(triggerId: string, event: Happening): void {
    const { kind } = event;
    if (!this.hasRoom(triggerId, kind)) return;
    const budget = this.#budgets.get(triggerId);
    if (budget) budget.written[kind]++;
    this.#written[kind]++;
    this.#write(triggerId, event);
  }

  /**
   * Writes down how much was left out of the minutes that are over. Where that is too much for one
   * minute, the rest is written in the next. Call it each minute.
   */
  turn(): void {
    const minute = Math.floor(this.#clock.now() / MINUTE_MS);
    if (this.#minute === minute) return;
    this.#minute = minute;
    this.#written = noEntries();
    this.#writeCounts(COUNTS_PER_MINUTE);
  }

  /** Writes what has been added. It is stored when the promise resolves, whoever began to write it. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const writes = this.#unwritten;
    this.#unwritten = [];
    await Promise.all(writes.map((write) => this.#store.committer.write([write])));
    // Changes are stored in their order: after this empty one, what an earlier flush began is stored.
    await this.#store.committer.write([]);
  }

  /** Counts what was left out into the logs, and writes everything that has been added. */
  async close(): Promise<void> {
    this.#writeCounts(Infinity);
    await this.flush();
  }

  /** One page of a trigger's log, newest first. */
  async list(triggerId: string, page: Page): Promise<Listed<TriggerLogEntry>> {
    // What cannot be stored keeps nobody from reading what is.
    await this.flush().catch(() => {});
    return await listNewest(this.#store, ["trigger_log", triggerId], page);
  }

  #write(triggerId: string, event: TriggerLogEvent): void {
    const now_ms = this.#clock.now();
    const id = newId(now_ms);
    const entry: TriggerLogEntry = { id, time: new Date(now_ms).toISOString(), ...event };
    this.#unwritten.push(recordWrite(keys.triggerLog(triggerId, id), entry));
    this.#timer ??= setTimeout(() => {
      this.flush().catch(() => {
        // The committer's failure is counted where it happens; a lost log entry must not end the service.
      });
    }, FLUSH_INTERVAL_MS);
  }

  /** Begins all budgets anew, but for the counts that cannot be written yet. */
  #writeCounts(counts_max: number): void {
    const budgets = [...this.#budgets];
    this.#budgets.clear();
    let written = 0;
    for (const [triggerId, { omitted }] of budgets) {
      if (omitted === 0) continue;
      if (written++ < counts_max) this.#write(triggerId, { kind: "omitted", count: omitted });
      else this.#budgets.set(triggerId, { written: noEntries(), omitted });
    }
    this.#written.refused += Math.min(written, counts_max);
  }
}

function noEntries(): Counts {
  return { refused: 0, action_failed: 0 };
}

/** The ids of the triggers that have entries, those of triggers that are gone among them. */
export function loggedTriggers(store: Store): AsyncGenerator<string> {
  return idsBehind(store, "trigger_log");
}

/** Removes a trigger's whole log. */
export async function removeTriggerLog(store: Store, triggerId: string): Promise<void> {
  await store.committer.writeInParts(await removeEntriesWrites(store, triggerId));
}

/** Which entries of a trigger's log. */
export interface OldEntries {
  /** Those that were made before this time; all when absent. */
  before_ms?: number;
  /** The oldest of them, so many at most. */
  limit?: number;
}

/** The writes that remove entries of a trigger's log. */
export async function removeEntriesWrites(
  store: Store,
  triggerId: string,
  { before_ms, ...options }: OldEntries = {},
): Promise<Write[]> {
  const prefix = ["trigger_log", triggerId];
  const selector = upTo(prefix, before_ms === undefined ? undefined : lowestId(before_ms));
  return await Array.fromAsync(store.kv.list(selector, options), ({ key }) => ({ key }));
}
