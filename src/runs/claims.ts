/**
 * Claims: taking over pending runs that nobody has in memory.
 *
 * @module
 */
import { keys } from "../store/keys.ts";
import { pendingEntries, type PendingRun } from "../store/runs.ts";
import type { Store } from "../store/store.ts";
import type { Lease } from "./lease.ts";

/** A pending run that can be taken over; without `pending` its record is damaged. */
export interface Claimable {
  key: Deno.KvKey;
  pending: PendingRun | undefined;
}

/** Whose claims they are, and where. */
export interface Claimant {
  store: Store;
  lease: Lease;
  workerId: string;
}

/**
 * The pending runs that are this worker's own or of one that is gone, oldest first.
 *
 * @param isHeld whether a run of this id is in memory, or has ended since the listing began
 */
export async function* claimableRuns(
  { store, lease, workerId }: Claimant,
  isHeld: (runId: string) => boolean,
): AsyncGenerator<Claimable> {
  const alive = new Map<string, boolean>([[workerId, false]]);
  for await (const { key, pending } of pendingEntries(store)) {
    if (isHeld(String(key[1]))) continue;
    if (pending !== undefined) {
      const { worker } = pending;
      if (!alive.has(worker)) alive.set(worker, await lease.isAlive(worker));
      if (alive.get(worker)) continue;
    }
    yield { key, pending };
  }
}

/**
 * Stores that these runs are the worker's own now, where they were not. Some may be stored and others not,
 * as when the disk becomes full: what is told of each is what came of it.
 */
export function claimRuns(
  { store, workerId }: Claimant,
  claims: readonly PendingRun[],
): Promise<PromiseSettledResult<PendingRun>[]> {
  return Promise.allSettled(claims.map(async (pending) => {
    if (pending.worker === workerId) return pending;
    await store.committer.write([{
      key: keys.pending(pending.run.id, pending.run.trigger_id),
      value: { ...pending, worker: workerId },
      bytes: 16_384,
    }]);
    return pending;
  }));
}
