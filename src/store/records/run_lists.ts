/**
 * Lists of runs: a trigger's, those of all triggers, and the oldest ones.
 *
 * @module
 */
import { idTime } from "../../platform/ids.ts";
import { type Listed, newestEntries, type Page } from "../read/lists.ts";
import { type FoundEntry, isUndecodable, scan, upTo } from "../read/scan.ts";
import type { Store } from "../store.ts";
import {
  damagedRun,
  endedIn,
  type EndedRun,
  getRun,
  PENDING_KINDS,
  pendingIn,
  type Run,
  withoutBody,
} from "./runs.ts";

/** Pending runs that are read at a time. Those of other triggers are among them. */
const PENDING_BATCH = 500;

/**
 * The ids of a trigger's pending runs, looked up before its list is read: what ends meanwhile is listed then. Or
 * `stored` where they are read from the database, since no instance knows them all.
 */
export type PendingIds = readonly string[] | "stored";

/** Which of a trigger's runs are wanted. */
interface RunsPage extends Page {
  pending?: PendingIds;
}

/** One page of a trigger's runs, newest first. */
export async function listTriggerRuns(
  store: Store,
  triggerId: string,
  { limit, ...page }: RunsPage,
): Promise<Listed<Run>> {
  // One more than is shown tells whether another page comes.
  const found = await runIdsOf(store, triggerId, { ...page, limit: limit + 1 });
  const ids = found.slice(0, limit);
  const runs = await Promise.all(ids.map((id) => getRun(store, id, triggerId)));
  return {
    records: runs.filter((run) => run !== undefined),
    next: found.length > limit ? ids.at(-1) : undefined,
  };
}

/** Reads the ids of a trigger's newest runs, newest first. */
export async function runIdsOf(
  store: Store,
  triggerId: string,
  { pending = [], before, limit }: RunsPage,
): Promise<string[]> {
  const ended = () => endedIdsOf(store, triggerId, { before, limit });
  const found = pending === "stored"
    // Pending runs that are older than a whole page of ended ones are not on this page.
    ? await storedPendingIds(store, triggerId, { before, limit, from: (await ended())[limit - 1] })
    : newestOf(pending, before, limit);
  // Read at last: a run that ends meanwhile is found by it.
  return [...new Set([...found, ...await ended()])].sort().reverse().slice(0, limit);
}

/** Reads the ids of a trigger's newest ended runs, newest first. */
export async function endedIdsOf(store: Store, triggerId: string, page: Page): Promise<string[]> {
  const found = await newestEntries(store, ["trigger_run", triggerId], page);
  return found.map(({ key }) => String(key[2]));
}

/** Reads the ids of a trigger's newest pending runs, from one id on, whichever instance knows of them. */
async function storedPendingIds(
  { kv }: Store,
  triggerId: string,
  { from = "", before, limit }: Page & { from: string | undefined },
): Promise<string[]> {
  const found = new Set<string>();
  for (const kind of PENDING_KINDS) {
    const selector = upTo([kind], before);
    const newest = kv.list(selector, { reverse: true, batchSize: PENDING_BATCH });
    let left = limit;
    try {
      for await (const { key: [, id, ofTrigger] } of newest) {
        if (String(id) < from) break;
        if (ofTrigger !== triggerId) continue;
        found.add(String(id));
        // Before the next is asked for, which would read another batch.
        if (--left === 0) break;
      }
    } catch (error) {
      if (!isUndecodable(error)) throw error;
      for await (const { key } of scan(kv, [kind], { ids: 2 })) {
        if (key[2] === triggerId) found.add(String(key[1]));
      }
    }
  }
  return newestOf([...found].sort(), before, limit);
}

/** Returns the newest ids before one, at most so many. There may be many more, most of which are in their order. */
function newestOf(ids: readonly string[], before: string | undefined, most: number): string[] {
  const newest: string[] = [];
  for (let index = ids.length - 1; index >= 0; index--) {
    const id = ids[index] ?? "";
    if (before !== undefined && id >= before) continue;
    if (newest.length === most && id <= (newest.at(-1) ?? "")) continue;
    const place = newest.findLastIndex((other) => other > id) + 1;
    newest.splice(place, 0, id);
    if (newest.length > most) newest.pop();
  }
  return newest;
}

/** Reads one page of the runs of all triggers, newest first. */
export async function listRuns(store: Store, page: Page): Promise<Listed<Run>> {
  const wanted = { ...page, limit: page.limit + 1 };
  // Pending runs first: a run that ends between the reads is found by the last.
  const pending: FoundEntry[] = [];
  for (const kind of PENDING_KINDS) pending.push(...await newestEntries(store, [kind], wanted, 2));
  const ended = await newestEntries(store, ["run"], wanted);
  const found = new Map<string, Run | undefined>();
  for (const entry of pending) found.set(String(entry.key[1]), pendingIn(entry)?.run);
  for (const entry of ended) {
    const run = endedIn(entry);
    found.set(String(entry.key[1]), run && withoutBody(run));
  }
  const ids = [...found.keys()].sort().reverse().slice(0, page.limit);
  return {
    records: ids.flatMap((id) => found.get(id) ?? []),
    next: found.size > page.limit ? ids.at(-1) : undefined,
  };
}

/** Reads the runs that launched a delivery's payload again, newest first. */
export async function listReplaysOf(
  store: Store,
  deliveryId: string,
  page: Page,
): Promise<Run[]> {
  const found = await newestEntries(store, ["replay_of", deliveryId], page);
  const runs = await Promise.all(found.map(({ key }) => getRun(store, String(key[2]))));
  return runs.filter((run) => run !== undefined);
}

/**
 * The oldest ended runs that were made before `before_ms`, at most `limit`.
 *
 * @param after look only behind this id
 */
export async function endedRunsMadeBefore(
  store: Store,
  before_ms: number,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<EndedRun[]> {
  const found: EndedRun[] = [];
  for await (const entry of scan(store.kv, ["run"], { after, batchSize: limit })) {
    const id = String(entry.key[1]);
    if (idTime(id) >= before_ms) break;
    found.push(endedIn(entry) ?? await damagedRun(store, id, ""));
    // Before the next is asked for, which would read another batch.
    if (found.length === limit) break;
  }
  return found;
}
