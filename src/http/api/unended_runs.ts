/**
 * The runs that have not ended, as operators are told of them. An instance that has the database alone knows them all;
 * of those that share one, each reads what is stored.
 *
 * @module
 */
import { CoalescedWork } from "../../platform/waiting/coalesced_work.ts";
import type { Waiting } from "../../runs/pace/waiting.ts";
import {
  type Burst,
  bursts,
  getBurst,
  getHeld,
  type HeldRun,
  heldRuns,
  type Turn,
  turns,
} from "../../store/records/held_runs.ts";
import type { PendingIds } from "../../store/records/run_lists.ts";
import type { Run } from "../../store/records/runs.ts";
import type { Store } from "../../store/store.ts";
import type { Operator } from "./operator.ts";

/** The parts of the service that know of runs. */
interface Parts extends Pick<Operator, "store" | "clock"> {
  worker: Pick<Operator["worker"], "pacer">;
}

/** All that runs wait for. */
interface Turns {
  held: HeldRun[];
  bursts: Burst[];
  turns: Turn[];
}

/** The reads of all that runs wait for. One serves all who ask meanwhile. */
const reads = new WeakMap<Store, CoalescedWork<Turns>>();

/** Returns the ids of a trigger's runs that have not ended, or where they are found. */
export function pendingOf(
  { store, worker }: { store: Store; worker: Pick<Operator["worker"], "pendingOf"> },
  triggerId: string,
): PendingIds {
  return store.shared ? "stored" : worker.pendingOf(triggerId);
}

/** Returns what a run waits for; undefined where it does not wait. */
export async function waitingOf(
  { store, worker, clock }: Parts,
  { id, trigger_id, status }: Pick<Run, "id" | "trigger_id" | "status">,
): Promise<Waiting | undefined> {
  const { shared } = store;
  if (shared === undefined || shared.instances.isLeader) return worker.pacer.waitingOf(id);
  if (status !== "pending") return undefined;
  const run = await getHeld(store, { id, triggerId: trigger_id });
  return run && await storedWaiting(store, run, clock.now());
}

/** Returns what a held run waits for, as the leader has stored it. */
async function storedWaiting(
  store: Store,
  held: HeldRun,
  now_ms: number,
): Promise<Waiting | undefined> {
  const { run: { trigger_id, created_at }, pace } = held;
  if (pace === undefined) return undefined;
  const { coalesce, concurrency, due_ms } = pace;
  const burst = coalesce && await getBurst(store, trigger_id, coalesce.key);
  if (burst && isIn(burst, held)) {
    return { for: "burst", key: burst.key, until: new Date(burst.due_ms).toISOString() };
  }
  const until_ms = due_ms || Date.parse(created_at);
  if (concurrency === undefined || until_ms > now_ms) {
    return { for: "delay", until: new Date(until_ms).toISOString() };
  }
  const all = await turnsOf(store);
  const { key, limit } = concurrency;
  const place =
    all.held.filter((other) =>
      isInLane(other, { trigger_id, key, now_ms }, all.bursts) &&
      other.held.order <= held.held.order
    ).length;
  const behind = all.turns.filter((turn) => turn.trigger_id === trigger_id && turn.key === key);
  return {
    for: "concurrency",
    key,
    limit,
    place: Math.max(1, place),
    behind: behind.map(({ run_id }) => run_id),
  };
}

/** Tells whether a run waits for a place of a key, and for nothing before. */
function isInLane(
  held: HeldRun,
  { trigger_id, key, now_ms }: { trigger_id: string; key: string; now_ms: number },
  open: readonly Burst[],
): boolean {
  const { run, pace } = held;
  if (run.trigger_id !== trigger_id || pace?.concurrency?.key !== key) return false;
  return (pace.due_ms ?? 0) <= now_ms && !open.some((burst) => isIn(burst, held));
}

function isIn(
  { trigger_id, key, run_id }: Burst,
  { run, pace, held }: HeldRun,
): boolean {
  return run.trigger_id === trigger_id && pace?.coalesce?.key === key &&
    run_id === (held.joins ?? run.id);
}

function turnsOf(store: Store): Promise<Turns> {
  let read = reads.get(store);
  if (read === undefined) {
    read = new CoalescedWork(async () => ({
      bursts: await Array.fromAsync(bursts(store)),
      held: await Array.fromAsync(heldRuns(store)),
      turns: await Array.fromAsync(turns(store)),
    }));
    reads.set(store, read);
  }
  return read.run();
}
