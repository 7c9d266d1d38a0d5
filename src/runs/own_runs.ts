/**
 * Runs that are an instance's own, where several share the database: it performs those that it has accepted, and the
 * leader takes them over once it is gone. An instance is gone when its lanes are removed, by which alone it stores
 * how its own runs end.
 *
 * @module
 */
import type { Write } from "../store/commit/change.ts";
import type { Intake } from "../store/commit/committer.ts";
import { getPending, type PendingRun } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";

type Whose = Pick<PendingRun, "own" | "worker">;

/** Tells whether a run is this instance's own. */
export function isOwn({ shared }: Pick<Store, "shared">, { own, worker }: Whose): boolean {
  return own === true && worker === shared?.id;
}

/** Returns what stores the work of a run: the lanes of this instance for its own runs, otherwise the leader's commits. */
export function intakeOf(store: Store, run: Whose): Intake {
  return isOwn(store, run) ? store.intake : store.committer;
}

/** Reads pending runs by the ids of them and their triggers; undefined where a record is damaged. */
export function readPending(
  store: Store,
  ids: Iterable<readonly [id: string, triggerId: string]>,
): Promise<[id: string, pending: PendingRun | undefined][]> {
  return Promise.all(
    Array.from(ids, async ([id, triggerId]) => [id, await getPending(store, id, triggerId)]),
  );
}

/**
 * Stores an end of work, and what notifiers are told of it.
 *
 * @param run the run whose end it is; undefined where nobody knows whose it was
 * @param told makes the writes for notifiers, by the notifiers as they are known
 */
export async function storeEnd(
  store: Store,
  run: Whose | undefined,
  { writes, told }: { writes: readonly Write[]; told: () => readonly Write[] },
): Promise<void> {
  if (run === undefined || !isOwn(store, run)) {
    return await store.committer.write([...writes, ...told()]);
  }
  let made: readonly Write[] | undefined;
  await store.intake.commit({
    refresh() {
      const reading = store.refreshNotifiers?.();
      if (reading) made = undefined;
      return reading;
    },
    writes: () => [...writes, ...made ??= told()],
  });
}
