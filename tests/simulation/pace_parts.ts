/**
 * The parts of a simulated service that schedules need, and deliberate defects of paces and schedules.
 *
 * @module
 */
import type { Clock } from "../../src/platform/clock.ts";
import type { Acceptor } from "../../src/runs/accept.ts";
import { PacedEntries } from "../../src/runs/pace/paced_entries.ts";
import "../../src/runs/schedule/cron.ts";
import "../../src/runs/schedule/due.ts";
import { keys } from "../../src/store/keys.ts";
import type { PendingRun, Run } from "../../src/store/records/runs.ts";
import type { Store } from "../../src/store/store.ts";
import type { Write } from "../../src/store/commit/change.ts";
import type { ScheduledTrigger } from "../../src/triggers/schedule_launch.ts";
import "../../src/triggers/occurrence_claim.ts";
import "../../src/triggers/schedule_launch.ts";
import { Scheduler } from "../../src/triggers/scheduler.ts";
import type { PaceHistory } from "./pace_history.ts";
import { execution } from "./plan.ts";
import type { PaceDefect, SimProcess } from "./world.ts";

/** Makes the scheduler of one process. */
export function schedulerOf(
  { store, clock, acceptor, pace: { scheduled } }: {
    store: Store;
    clock: Clock;
    acceptor: Acceptor;
    pace: PaceHistory;
  },
): Scheduler {
  const { id, actions, pace } = scheduled;
  const prepared: ScheduledTrigger = {
    trigger: {
      id,
      project: "digits",
      enabled: true,
      actions,
      schedule: [{ cron: "* * * * *", timezone: "UTC", missed: "run", payload: {} }],
    },
    redacted: [],
    pace: pace && (() => ({ pace: pace("", clock.now()) })),
  };
  return new Scheduler({
    store,
    clock,
    acceptor,
    triggers: {
      prepared: () => Promise.resolve(prepared),
      isCurrent: () => true,
    },
    baseUrl: () => "http://127.0.0.1",
    metrics: { delivery() {} },
    deliveryCounts: { note() {} },
  });
}

/** Plants a defect in what one process stores and reads. */
export function plantPaceDefect(store: Store, { world: { defect }, clock }: SimProcess): void {
  const { committer, kv } = store;
  const filter = FILTERS[defect as PaceDefect];
  if (filter) {
    const write = committer.write.bind(committer);
    committer.write = (writes) => write(filter(writes));
  }
  if (defect === "occurrence at two instances") {
    const get = kv.get.bind(kv);
    kv.get = (key) => get(key[0] === "occurrences" ? ["nothing"] : key);
  }
  if (defect === "window that restarts") {
    const list = kv.list.bind(kv);
    kv.list = ((selector: Deno.KvListSelector, options?: Deno.KvListOptions) => {
      const isOfBursts = "prefix" in selector && selector.prefix[0] === "burst" ||
        "start" in selector && selector.start[0] === "burst";
      const found = list(selector, options);
      return isOfBursts ? restarted(found, clock) : found;
    }) as typeof kv.list;
  }
}

/** The writes that a process with a defect stores in place of others. */
const FILTERS: Partial<Record<PaceDefect, (writes: readonly Write[]) => Write[]>> = {
  "limit outside the commit": (writes) => writes.filter(({ key: [kind] }) => kind !== "turn"),
  // It ends, and is to be performed all the same.
  "superseded run that starts": (writes) => {
    // Only runs are stored under these keys.
    const ended = writes.filter(({ key }) => key[0] === "run").map(({ value }) => value as Run);
    const again = ended.filter(({ superseded_by }) => superseded_by !== undefined)
      .map((run): Write => {
        const pending: PendingRun = { run, actions: [execution], worker: "" };
        return { key: keys.pending(run.id, run.trigger_id), value: pending };
      });
    return [...writes, ...again];
  },
};

async function* restarted(
  found: AsyncIterable<Deno.KvEntry<unknown>>,
  clock: Clock,
): AsyncGenerator<Deno.KvEntry<unknown>> {
  for await (const entry of found) {
    // Only bursts are stored under these keys.
    const burst = entry.value as { due_ms: number };
    yield { ...entry, value: { ...burst, due_ms: clock.now() + RESTARTED_MS } };
  }
}

const RESTARTED_MS = 6_000;

/** Plants a defect in how runs are put in order, until it is disposed of. */
export function plantOrder(defect: string | undefined): Disposable {
  const { add } = PacedEntries.prototype;
  if (defect === "order by receipt") {
    // Ids begin with the time of receipt.
    PacedEntries.prototype.add = function (pending) {
      add.call(this, pending, ` ${pending.run.id}`);
    };
  }
  return { [Symbol.dispose]: () => void (PacedEntries.prototype.add = add) };
}
