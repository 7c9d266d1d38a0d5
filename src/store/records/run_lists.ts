/**
 * Lists of runs: a trigger's, those of all triggers, and the oldest ones.
 *
 * @module
 */
import { idTime } from "../../platform/ids.ts";
import type { Write } from "../commit/change.ts";
import { type Listed, newestEntries, type Page } from "../read/lists.ts";
import { behind, type FoundEntry, scan, upTo } from "../read/scan.ts";
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

/** Which of a trigger's runs are wanted. */
interface RunsPage extends Page {
  /** The ids of its pending runs, looked up before this: what ends meanwhile is listed then. */
  pending?: readonly string[];
}

/** One page of a trigger's runs, newest first. */
export async function listTriggerRuns(
  store: Store,
  triggerId: string,
  { pending = [], before, limit }: RunsPage,
): Promise<Listed<Run>> {
  const prefix = ["trigger_run", triggerId];
  const found = new Set(newestOf(pending, before, limit + 1));
  // One more than is shown tells whether another page comes.
  const options = { reverse: true, limit: limit + 1 };
  for await (const { key } of store.kv.list(upTo(prefix, before), options)) {
    found.add(String(key[2]));
  }
  const ids = [...found].sort().reverse().slice(0, limit);
  const runs = await Promise.all(ids.map((id) => getRun(store, id, triggerId)));
  return {
    records: runs.filter((run) => run !== undefined),
    next: found.size > limit ? ids.at(-1) : undefined,
  };
}

/** Reads the ids of a trigger's runs that have not ended, oldest first, whichever instance knows of them. */
export async function pendingIdsOf(store: Store, triggerId: string): Promise<string[]> {
  const ids = new Set<string>();
  for (const kind of PENDING_KINDS) {
    for await (const { key } of scan(store.kv, [kind], { ids: 2 })) {
      if (key[2] === triggerId) ids.add(String(key[1]));
    }
  }
  return [...ids].sort();
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
  { before, limit }: Page,
): Promise<Run[]> {
  const selector = upTo(["replay_of", deliveryId], before);
  const found = store.kv.list(selector, { reverse: true, limit });
  const ids = await Array.fromAsync(found, ({ key }) => String(key[2]));
  const runs = await Promise.all(ids.map((id) => getRun(store, id)));
  return runs.filter((run) => run !== undefined);
}

/** Some of what the triggers list of their runs. */
export interface OldListed {
  /** Those that are old enough, and what takes them off their lists. */
  found: { id: string; removal: Write }[];
  /** Start of the next page; undefined after the last one. */
  next: Deno.KvKey | undefined;
}

/**
 * Lists the ended runs of all triggers that are past their retention, trigger by trigger.
 *
 * @param cutoffOf returns the time before which a trigger's runs are, in milliseconds since the epoch
 * @param after look only behind this; the `next` of the call before
 * @param limit how many are looked at, at most
 */
export async function runsListedBefore(
  { kv }: Store,
  cutoffOf: (triggerId: string) => Promise<number>,
  { after, limit }: { after?: Deno.KvKey | undefined; limit: number },
): Promise<OldListed> {
  const found: OldListed["found"] = [];
  let next: OldListed["next"];
  let looked = 0;
  let cutoff = { triggerId: "", before_ms: 0 };
  for await (const { key } of kv.list(behind(["trigger_run"], after), { limit })) {
    looked++;
    const triggerId = String(key[1]);
    // Behind a young one all of its trigger are young.
    if (next?.length === 2 && next[1] === triggerId) continue;
    const id = String(key[2]);
    if (cutoff.triggerId !== triggerId) {
      cutoff = { triggerId, before_ms: await cutoffOf(triggerId) };
    }
    const isOld = idTime(id) < cutoff.before_ms;
    if (isOld) found.push({ id, removal: { key } });
    next = isOld ? key : ["trigger_run", triggerId];
  }
  return { found, next: looked < limit ? undefined : next };
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
