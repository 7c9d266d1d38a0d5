/**
 * The numbers of deliveries of each trigger by hour and outcome, for overviews: one record a trigger, day and
 * instance. They are gathered in memory and stored every few seconds, so a crash loses the last of them.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { scan } from "../read/scan.ts";
import type { Store } from "../store.ts";
import type { DeliveryOutcome } from "./deliveries.ts";

const FLUSH_INTERVAL_MS = 5_000;
/** The most records of one flush. The rest follows in the next. */
const FLUSHED_MAX = 1_000;
const HOURS = 24;
const HOUR_MS = 60 * 60_000;
const DAY_MS = HOURS * HOUR_MS;
const DAYS_KEPT = 8;
const RECORD_BYTES = 2_048;
/** Stands for the id where one process has the database. */
const ONLY_INSTANCE = "";

/** Counted failures: executions and pipelines that ended as `error`, and runs with an action that failed. */
type Failure = "execution_error" | "pipeline_error" | "run_error";

/** The counted events: deliveries by their outcomes, and failures. */
type Counted = DeliveryOutcome | Failure;

/** The deliveries of one trigger and day (UTC). */
interface DeliveryDay {
  /** For all that was counted, the numbers of the day's 24 hours. */
  hours: Partial<Record<Counted, number[]>>;
  /** The time of the newest delivery, in milliseconds since the epoch; 0 without one. */
  last_ms: number;
}

/** The counts of one trigger in one hour; 0 where absent. */
export interface DeliveryHour {
  from_ms: number;
  counts: Partial<Record<Counted, number>>;
}

/** Counts deliveries. */
export class DeliveryCounts {
  readonly #store: Store;
  readonly #clock: Clock;
  /** Counts that are not stored yet, by day and trigger. */
  #fresh = new Map<string, DeliveryDay>();
  /** The hour of the last count, and its day. */
  #hour = NaN;
  #today = "";
  #cancelFlush: (() => void) | undefined;
  #flushing: Promise<void> = Promise.resolve();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Counts a delivery, or a failure. */
  note(triggerId: string, what: Counted): void {
    const now_ms = this.#clock.now();
    const hourNumber = Math.floor(now_ms / HOUR_MS);
    // Writing a date for each launch would show in a profile.
    if (hourNumber !== this.#hour) [this.#hour, this.#today] = [hourNumber, dayOf(now_ms)];
    const name = `${this.#today} ${triggerId}`;
    let day = this.#fresh.get(name);
    if (day === undefined) this.#fresh.set(name, day = { hours: {}, last_ms: 0 });
    const hours = day.hours[what] ??= new Array(HOURS).fill(0);
    const hour = hourOf(now_ms);
    hours[hour] = (hours[hour] ?? 0) + 1;
    if (!isFailure(what)) day.last_ms = now_ms;
    this.#flushLater();
  }

  /** Stores what was counted. */
  async flush(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    // One at a time: each adds to what is stored.
    const flushed = this.#flushing.then(() => this.#flush());
    this.#flushing = flushed.catch(() => {});
    await flushed;
  }

  /** Stores what was counted, and counts no more. */
  async close(): Promise<void> {
    try {
      while (this.#fresh.size > 0) await this.flush();
    } finally {
      this.#cancelFlush?.();
    }
  }

  /** Reads the deliveries of a trigger in the last 24 hours, oldest hour first, and the time of the newest. */
  async read(triggerId: string): Promise<{ hours: DeliveryHour[]; last_ms: number | undefined }> {
    const now_ms = this.#clock.now();
    const from_ms = (Math.floor(now_ms / HOUR_MS) - HOURS + 1) * HOUR_MS;
    const midnight_ms = Math.floor(now_ms / DAY_MS) * DAY_MS;
    const [before, today] = await Promise.all(
      [from_ms, now_ms].map((time_ms) => this.#day(dayOf(time_ms), triggerId)),
    );
    const hours = Array.from({ length: HOURS }, (_, index): DeliveryHour => {
      const time_ms = from_ms + index * HOUR_MS;
      const day = time_ms < midnight_ms ? before : today;
      const counts = Object.entries(day?.hours ?? {}).flatMap(([what, numbers]) => {
        const count = numbers[hourOf(time_ms)] ?? 0;
        return count === 0 ? [] : [[what, count]];
      });
      return { from_ms: time_ms, counts: Object.fromEntries(counts) };
    });
    const last_ms = Math.max(before?.last_ms ?? 0, today?.last_ms ?? 0);
    return { hours, last_ms: last_ms || undefined };
  }

  /** Lists the triggers with counts of the last 24 hours. Others cost nothing. One may come more than once. */
  async *triggersOfLastDay(): AsyncGenerator<string> {
    const now_ms = this.#clock.now();
    const days = [dayOf(now_ms - DAY_MS), dayOf(now_ms)];
    for (const name of [...this.#fresh.keys()]) {
      const [day = "", triggerId = ""] = name.split(" ");
      if (days.includes(day)) yield triggerId;
    }
    let last = "";
    for (const day of days) {
      for await (const { key } of scan(this.#store.kv, ["delivery_count", day], { ids: 2 })) {
        const triggerId = String(key[2]);
        if (triggerId !== last) yield last = triggerId;
      }
    }
  }

  /** Returns what is stored and what is not yet, together. */
  async #day(day: string, triggerId: string): Promise<DeliveryDay | undefined> {
    const stored = await readDay(this.#store, day, triggerId);
    const fresh = this.#fresh.get(`${day} ${triggerId}`);
    return [...stored, ...fresh === undefined ? [] : [fresh]]
      .reduce<DeliveryDay | undefined>(sumOf, undefined);
  }

  async #flush(): Promise<void> {
    const names = [...this.#fresh.keys()].slice(0, FLUSHED_MAX);
    try {
      await Promise.all(names.map((name) => this.#write(name)));
    } finally {
      if (this.#fresh.size > 0) this.#flushLater();
    }
  }

  async #write(name: string): Promise<void> {
    const fresh = this.#fresh.get(name);
    if (fresh === undefined) return;
    const [day = "", triggerId = ""] = name.split(" ");
    const key = keys.deliveryCount(day, triggerId, instanceOf(this.#store));
    const stored = dayIn(await this.#store.reads.read(key));
    const written = structuredClone(fresh);
    const value = sumOf(stored, written);
    await this.#store.intake.write([{ key, value, bytes: RECORD_BYTES }]);
    // What came meanwhile stays.
    const rest = subtract(fresh, written);
    if (rest === undefined) this.#fresh.delete(name);
  }

  #flushLater(): void {
    this.#cancelFlush ??= this.#clock.after(FLUSH_INTERVAL_MS, () => {
      // The committer's failure is counted where it happens; what was not stored is tried again.
      this.flush().catch(() => {});
    });
  }
}

/** Removes the counts of days that are long over, and returns their number. */
export async function removeOldDeliveryCounts(store: Store, now_ms: number): Promise<number> {
  const end = dayOf(now_ms - DAYS_KEPT * DAY_MS);
  const writes: Write[] = [];
  for await (const { key } of scan(store.kv, ["delivery_count"], { ids: 3 })) {
    if (String(key[1]) >= end) break;
    writes.push({ key });
  }
  await store.committer.writeInParts(writes);
  return writes.length;
}

/** Reads the counts of a trigger and day, of each instance. */
async function readDay(store: Store, day: string, triggerId: string): Promise<DeliveryDay[]> {
  if (store.shared === undefined) {
    const key = keys.deliveryCount(day, triggerId, ONLY_INSTANCE);
    const found = dayIn(await store.reads.read(key));
    return found === undefined ? [] : [found];
  }
  const found = await Array.fromAsync(
    scan(store.kv, ["delivery_count", day, triggerId]),
    ({ value }) => dayIn(value) ?? [],
  );
  return found.flat();
}

function isFailure(what: Counted): what is Failure {
  return what === "execution_error" || what === "pipeline_error" || what === "run_error";
}

function instanceOf({ shared }: Store): string {
  return shared?.id ?? ONLY_INSTANCE;
}

function dayIn(value: unknown): DeliveryDay | undefined {
  const { hours, last_ms } = Object(value);
  return typeof hours === "object" && hours !== null && typeof last_ms === "number"
    ? { hours, last_ms }
    : undefined;
}

function sumOf(one: DeliveryDay | undefined, other: DeliveryDay): DeliveryDay {
  const sum = structuredClone(one ?? { hours: {}, last_ms: 0 });
  sum.last_ms = Math.max(sum.last_ms, other.last_ms);
  for (const what of countedIn(other)) {
    const added = other.hours[what] ?? [];
    sum.hours[what] = added.map((count, hour) => count + (sum.hours[what]?.[hour] ?? 0));
  }
  return sum;
}

/** Takes counts off a day; undefined when nothing is left. */
function subtract(day: DeliveryDay, taken: DeliveryDay): DeliveryDay | undefined {
  let isEmpty = true;
  for (const what of countedIn(day)) {
    const left = (day.hours[what] ?? [])
      .map((count, hour) => count - (taken.hours[what]?.[hour] ?? 0));
    day.hours[what] = left;
    if (left.some((count) => count > 0)) isEmpty = false;
  }
  return isEmpty ? undefined : day;
}

function countedIn({ hours }: DeliveryDay): Counted[] {
  // The keys of a record of what is counted.
  return Object.keys(hours) as Counted[];
}

function dayOf(time_ms: number): string {
  return new Date(time_ms).toISOString().slice(0, 10);
}

function hourOf(time_ms: number): number {
  return Math.floor(time_ms / HOUR_MS) % HOURS;
}
