/**
 * Decisions about runs that wait, stored one after the other and then carried out.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import type { Write } from "../../store/commit/change.ts";
import {
  type Burst,
  closeBurstWrite,
  endHeldWrites,
  getHeld,
  holdWrites,
  releaseWrites,
} from "../../store/records/held_runs.ts";
import { runEndWrites } from "../../store/records/notices.ts";
import {
  acceptWrites,
  damagedRun,
  endWrites,
  type PendingRun,
  type Run,
} from "../../store/records/runs.ts";
import type { Store } from "../../store/store.ts";
import type { Item } from "./item.ts";
import { joinedRun } from "./joined_run.ts";
import { Steps } from "./steps.ts";

/** The most records that one decision reads at once: launches go in between. */
const READ_AT_ONCE = 100;

interface DecisionsParts {
  store: Store;
  clock: Clock;
  signal: AbortSignal;
  /** Called for each run that waits no more, once that is on disk, with its end where it has ended. */
  onGone(item: Item | undefined, ended?: Run): void;
}

/** Stores decisions, those about the runs of one trigger in their order. */
export class Decisions {
  readonly #parts: DecisionsParts;
  readonly #steps: Steps;

  constructor(parts: DecisionsParts) {
    const { store: { committer }, clock, signal } = parts;
    this.#parts = parts;
    this.#steps = new Steps({ committer, clock, signal });
  }

  /** Resolves when nothing is being stored. */
  settled(): Promise<void> {
    return this.#steps.settled();
  }

  /** Stores something beside the runs. */
  write(triggerId: string, writes: readonly Write[]): void {
    this.#steps.add(triggerId, { writes: () => writes });
  }

  /** Decides that a run waits. */
  hold(item: Item, { beside = [], ...joins }: { joins?: string; beside?: Write[] } = {}): void {
    const { record, order } = item;
    if (item.isHeld || record === undefined) return;
    item.isHeld = true;
    this.#steps.add(item.triggerId, {
      of: [item.id],
      writes: () => [...holdWrites(record, { order, ...joins }), ...beside],
      stored: () => item.record = undefined,
    });
  }

  /**
   * Decides that a run is performed.
   *
   * @param taken the writes that give its work a place
   * @param perform called with its record once that is on disk; undefined where that was damaged
   */
  release(
    item: Item,
    taken: readonly Write[],
    perform: (pending: PendingRun | undefined) => void,
  ): void {
    const { record, isHeld, triggerId } = item;
    const { onGone, store } = this.#parts;
    item.isDecided = true;
    const begin = (pending: PendingRun | undefined) => {
      onGone(item);
      perform(pending);
    };
    if (!isHeld && record) {
      if (taken.length === 0) return begin(record);
      return this.#steps.add(triggerId, {
        of: [item.id],
        writes: () => taken,
        stored: () => begin(record),
      });
    }
    let released: PendingRun | undefined;
    this.#steps.add(triggerId, {
      of: [item.id],
      reads: true,
      writes: async () => {
        const found = await getHeld(store, item);
        if (found === undefined) return [];
        const { held: _held, pace: _pace, ...pending } = found;
        released = pending;
        return [...taken, ...releaseWrites(pending)];
      },
      stored: () => begin(released),
    });
  }

  /** Decides that another run is performed in the place of one. */
  supersede(item: Item, superseded_by: string, beside: readonly Write[] = []): void {
    this.end(item, (run) => ({ ...run, status: "completed", superseded_by }), beside);
  }

  /** Decides that a run ends without its turn, with an error of each of its actions. */
  fail(item: Item, error: string): void {
    this.end(item, (_run, pending) => failed(pending, error));
  }

  /** Decides that a run ends without its turn. */
  end(
    item: Item,
    ended: (run: Run, pending: PendingRun) => Run,
    beside: readonly Write[] = [],
  ): void {
    const { onGone } = this.#parts;
    let run: Run | undefined;
    item.isDecided = true;
    this.#steps.add(item.triggerId, {
      of: [item.id],
      reads: item.record === undefined,
      writes: async () => {
        const pending = await this.#recordOf(item);
        if (pending === undefined) return beside;
        run = this.#endedNow(ended(pending.run, pending));
        return [...endHeldWrites(run, pending.body), ...beside];
      },
      stored: () => onGone(item, run),
    });
  }

  /** Decides that a run ends whose record is damaged. */
  endDamaged(key: Deno.KvKey): void {
    const { store, onGone } = this.#parts;
    const [, id = "", triggerId = ""] = key.map(String);
    let run: Run | undefined;
    this.#steps.add(triggerId, {
      writes: async () => {
        run = this.#endedNow(await damagedRun(store, id, triggerId));
        return [...endWrites(run), { key }, ...runEndWrites(store, run)];
      },
      stored: () => onGone(undefined, run),
    });
  }

  /**
   * Decides that some runs become one, with all of their payloads. One whose payload is damaged ends with an error.
   *
   * @param onMade called with that run once it is on disk; undefined where none of them was left
   */
  join(
    burst: Burst,
    items: readonly Item[],
    onMade: (made: PendingRun | undefined) => void,
  ): void {
    const { store, clock } = this.#parts;
    const created_ms = clock.now();
    let left = items;
    let made: PendingRun | undefined;
    for (const item of items) item.isDecided = true;
    this.#steps.add(burst.trigger_id, {
      of: items.map(({ id }) => id),
      reads: true,
      writes: async () => {
        const damaged = new Map<string, string>();
        const of = { id: burst.run_id, created_ms, damaged };
        const joined = await joinedRun(store, of, await this.#recordsOf(left));
        for (const item of left) {
          const error = damaged.get(item.id);
          if (error === undefined) continue;
          await this.#failNow(item, error);
          left = left.filter((each) => each !== item);
        }
        made = joined?.pending;
        return [
          closeBurstWrite(burst),
          ...joined ? acceptWrites(joined.pending, joined.payload) : [],
        ];
      },
      stored: () => {
        for (const item of left) this.supersede(item, burst.run_id);
        onMade(made);
      },
    });
  }

  /** Ends a run before its burst ends: a start would take it for a part of what that has become. */
  async #failNow(item: Item, error: string): Promise<void> {
    const { store, onGone } = this.#parts;
    const { record } = item;
    if (record === undefined) return;
    const run = this.#endedNow(failed(record, error));
    await store.committer.write([
      ...endHeldWrites(run, record.body),
      ...runEndWrites(store, run),
    ]);
    onGone(item, run);
  }

  #endedNow(run: Run): Run {
    return { ...run, ended_at: new Date(this.#parts.clock.now()).toISOString() };
  }

  /** Reads the records of runs, which keep them until their end is stored: a second look costs as much. */
  async #recordsOf(items: readonly Item[]): Promise<PendingRun[]> {
    const found: PendingRun[] = [];
    for (let start = 0; start < items.length; start += READ_AT_ONCE) {
      await Promise.all(
        items.slice(start, start + READ_AT_ONCE).map(async (item) => {
          item.record = await this.#recordOf(item);
        }),
      );
    }
    for (const { record } of items) if (record) found.push(record);
    return found;
  }

  async #recordOf(item: Item): Promise<PendingRun | undefined> {
    return item.record ?? await getHeld(this.#parts.store, item);
  }
}

/** Returns a run as it ends with an error of each of its actions. */
function failed({ run, actions }: PendingRun, error: string): Run {
  return {
    ...run,
    status: "error",
    actions: actions.map(({ type: action }) => ({ action, error })),
  };
}
