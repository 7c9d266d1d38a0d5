/**
 * The schedules of all triggers. The leader looks at those that are due. Each occurrence makes one run: the commit
 * that accepts it stores that it was made.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../platform/errors.ts";
import {
  occurrencesOf,
  scheduleNames,
  schedulesOf,
  type StoredSchedule,
  storedSchedules,
} from "../store/records/schedules.ts";
import type { Store } from "../store/store.ts";
import type { DeliveryCounts } from "../store/records/delivery_counts.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { ScheduleLaunchParts } from "./schedule_launch.ts";

/** The longest wait at once: a clock that was set is noticed then. */
const WAIT_MS_MAX = 10_000;
/** The wait after an occurrence that could not be stored. */
const RETRY_MS = 5_000;

const log = getLogger(["hooklaunch", "triggers"]);

interface SchedulerParts extends ScheduleLaunchParts {
  store: Store;
  metrics: Pick<Metrics, "delivery">;
  deliveryCounts: Pick<DeliveryCounts, "note">;
}

/** An occurrence that is due and could not be stored. */
export interface ScheduleFailure {
  triggerId: string;
  /** The time of the occurrence. */
  time_ms: number;
  /** The time of the first failure. */
  since_ms: number;
  detail: string;
}

/** A schedule, and the next time at which it is looked at; at once where that is 0. */
interface Entry {
  schedule: StoredSchedule;
  next_ms: number;
  failure?: ScheduleFailure | undefined;
}

/** Launches triggers by their schedules. */
export class Scheduler {
  readonly #parts: SchedulerParts;
  readonly #entries = new Map<string, Entry[]>();
  /** The triggers that were changed since they were read; undefined where all are to be read. */
  #changed: Set<string> | undefined;
  #before_ms = 0;
  #isStarted = false;
  #isClosed = false;
  #ticking: Promise<void> | undefined;
  #ticksAgain = false;
  #cancel = () => {};

  constructor(parts: SchedulerParts) {
    this.#parts = parts;
  }

  /** Reads the schedules of a trigger anew, or those of all. Returns at once. */
  changed(triggerId: string | undefined): void {
    if (triggerId === undefined) this.#changed = undefined;
    else this.#changed?.add(triggerId);
    void this.tick();
  }

  /** True while it looks at schedules. */
  get isBusy(): boolean {
    return this.#ticking !== undefined;
  }

  /** The occurrences that are tried again, since they could not be stored. */
  get failures(): ScheduleFailure[] {
    return [...this.#entries.values()].flat().flatMap(({ failure }) => failure ?? []);
  }

  /** Begins to launch, with what was missed. Call it where this instance leads. */
  async start(): Promise<void> {
    this.#before_ms = this.#parts.clock.now();
    this.#isStarted = true;
    await this.tick();
  }

  /** Looks at the schedules that are due. Never rejects. */
  tick(): Promise<void> {
    if (!this.#isStarted || this.#isClosed) return Promise.resolve();
    if (this.#ticking) this.#ticksAgain = true;
    return this.#ticking ??= this.#tickUntilDone();
  }

  /** Launches nothing more: what comes due waits for the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    await this.#ticking;
  }

  async #tickUntilDone(): Promise<void> {
    let wait_ms = WAIT_MS_MAX;
    do {
      this.#ticksAgain = false;
      wait_ms = await this.#tick().catch((error) => {
        log.error("Cannot look at the schedules of triggers, trying again: {error}", {
          error: messageOf(error),
        });
        return RETRY_MS;
      });
    } while (this.#ticksAgain && !this.#isClosed);
    // At once: a look that is asked for from now on begins anew.
    this.#ticking = undefined;
    this.#cancel();
    if (this.#isClosed || (this.#entries.size === 0 && this.#changed)) return;
    this.#cancel = this.#parts.clock.after(wait_ms, () => void this.tick());
  }

  /** Returns the time until the next look. */
  async #tick(): Promise<number> {
    await this.#read();
    const now_ms = this.#parts.clock.now();
    // A clock that was set back: what is next comes earlier now.
    const isBack = now_ms < this.#before_ms;
    let wait_ms = WAIT_MS_MAX;
    for (const [triggerId, entries] of this.#entries) {
      for (const entry of entries) {
        if (this.#isClosed) return wait_ms;
        if (isBack) entry.next_ms = 0;
        if (entry.next_ms <= now_ms) {
          const done = await this.#look(triggerId, entry, now_ms);
          entry.next_ms = done ? await nextAfter(entry.schedule, now_ms) : now_ms + RETRY_MS;
        }
        wait_ms = Math.min(wait_ms, Math.max(0, entry.next_ms - this.#parts.clock.now()));
      }
    }
    this.#before_ms = now_ms;
    return wait_ms;
  }

  /** Reads the schedules that were changed. */
  async #read(): Promise<void> {
    const { store } = this.#parts;
    const changed = this.#changed;
    // What changes from now on is read next time.
    this.#changed = new Set();
    try {
      if (changed === undefined) {
        this.#entries.clear();
        for await (const { triggerId, schedules } of storedSchedules(store)) {
          this.#enter(triggerId, schedules);
        }
      }
      for (const id of changed ?? []) this.#enter(id, await schedulesOf(store, id));
    } catch (error) {
      this.#changed = undefined;
      throw error;
    }
  }

  #enter(triggerId: string, schedules: readonly StoredSchedule[]): void {
    if (schedules.length === 0) this.#entries.delete(triggerId);
    else this.#entries.set(triggerId, schedules.map((schedule) => ({ schedule, next_ms: 0 })));
  }

  /** Launches what is due of a schedule; returns false where that could not be stored. */
  async #look(triggerId: string, entry: Entry, now_ms: number): Promise<boolean> {
    const { schedule, failure } = entry;
    let time_ms: number | undefined;
    try {
      const { dueTime } = await import("../runs/schedule/due.ts");
      const ranges = (await occurrencesOf(this.#parts.store, triggerId))[schedule.name] ?? [];
      time_ms = dueTime(schedule, ranges, { now_ms, before_ms: this.#before_ms });
      if (time_ms !== undefined) await this.#launch(triggerId, schedule, time_ms);
      entry.failure = undefined;
      return true;
    } catch (error) {
      const detail = messageOf(error);
      const { since_ms = now_ms } = failure ?? {};
      entry.failure = { triggerId, time_ms: time_ms ?? now_ms, since_ms, detail };
      log.warn("Cannot launch trigger {trigger_id} by its schedule, trying again: {error}", {
        trigger_id: triggerId,
        error: detail,
      });
      return false;
    }
  }

  async #launch(triggerId: string, schedule: StoredSchedule, time_ms: number): Promise<void> {
    const { store, triggers, metrics, deliveryCounts } = this.#parts;
    const { launchScheduled, scheduleOf } = await import("./schedule_launch.ts");
    const { claimOccurrence } = await import("./occurrence_claim.ts");
    for (;;) {
      const prepared = await triggers.prepared(triggerId);
      const settings = prepared && scheduleOf(prepared, schedule.name);
      // It was changed meanwhile, and is read anew.
      if (!prepared?.trigger.enabled || settings === undefined) return;
      const names = new Set(scheduleNames(prepared.trigger.schedule ?? []));
      const claim = await claimOccurrence(store, triggerId, { schedule, time_ms, names });
      if (claim === undefined) return;
      const acceptance = await launchScheduled(this.#parts, prepared, settings.payload, {
        schedule: { time_ms },
        launchedBy: { kind: "schedule" },
        claim,
      });
      if ("outdated" in acceptance) continue;
      if ("run" in acceptance) {
        metrics.delivery("accepted");
        deliveryCounts.note(triggerId, "accepted");
      }
      return;
    }
  }
}

async function nextAfter(schedule: StoredSchedule, now_ms: number): Promise<number> {
  const { nextTimes } = await import("../runs/schedule/cron.ts");
  return nextTimes(schedule, now_ms, 1)[0] ?? Infinity;
}
