/**
 * Lists of records whose keys are a kind and an id, which sort by the time at which they were made.
 *
 * @module
 */
import { idTime } from "../../platform/ids.ts";
import { type FoundEntry, isUndecodable, scan, upTo, whole } from "./scan.ts";
import type { Store } from "../store.ts";

/** Which part of a list is wanted, newest first. */
export interface Page {
  /** List only what is older than this id; the `next` of the page before. */
  before?: string | undefined;
  limit: number;
}

/** One page of a list. */
export interface Listed<T> {
  records: T[];
  /** The id behind which the next page begins; undefined when this is the last. */
  next: string | undefined;
}

/** One page of the records under a prefix whose next part is an id, newest first. */
export async function listNewest<T extends { id: string }>(
  store: Store,
  prefix: Deno.KvKey,
  page: Page,
): Promise<Listed<T>> {
  // One more than is shown tells whether another page comes.
  const found = await newestEntries(store, prefix, { ...page, limit: page.limit + 1 });
  const entries = found.slice(0, page.limit);
  return {
    records: entries.flatMap((entry) => recordOf<T>(entry) ?? []),
    next: found.length > page.limit ? String(entries.at(-1)?.key.at(-1)) : undefined,
  };
}

/**
 * Reads the newest entries under a prefix whose next part is an id.
 *
 * @param ids the number of key parts after the prefix. All are ids
 */
export async function newestEntries(
  { kv }: Store,
  prefix: Deno.KvKey,
  page: Page,
  ids = 1,
): Promise<FoundEntry[]> {
  return await newest(kv, prefix, page).catch(async (error) => {
    if (!isUndecodable(error)) throw error;
    return await newestReadable(kv, prefix, page, ids);
  });
}

/** The record of an entry; undefined, and logged, when it is none. */
export function recordOf<T extends { id: string }>(entry: FoundEntry): T | undefined {
  // Only records of one kind are stored under these keys, each with its id.
  const isRecord = (value: unknown): value is T =>
    typeof value === "object" && value !== null && "id" in value;
  return whole(entry, isRecord);
}

/** The record of an entry whose key has its name; undefined, and logged, when it is another; undefined for none. */
export function namedRecordOf<T extends { name: string }>(entry: FoundEntry): T | undefined {
  if (entry.value === null) return undefined;
  // Only records of one kind are stored under these keys.
  return whole(entry, (value): value is T => Object(value).name === entry.key[1]);
}

/** All records of a kind as they are stored, oldest first; undefined in place of what cannot be decoded. */
export async function* storedRecords(
  store: Store,
  kind: "execution" | "trigger",
): AsyncGenerator<{ id: string; value: unknown }> {
  for await (const { key, value } of scan(store.kv, [kind])) yield { id: String(key[1]), value };
}

async function newest(
  kv: Deno.Kv,
  prefix: Deno.KvKey,
  { before, limit }: Page,
): Promise<FoundEntry[]> {
  return await Array.fromAsync(kv.list(upTo(prefix, before), { reverse: true, limit }));
}

/** The same where some cannot be read. All have to be gone through, as the database reads no further. */
async function newestReadable(
  kv: Deno.Kv,
  prefix: Deno.KvKey,
  { before, limit }: Page,
  ids: number,
): Promise<FoundEntry[]> {
  const entries: FoundEntry[] = [];
  for await (const entry of scan(kv, prefix, { ids })) {
    if (before !== undefined && String(entry.key[prefix.length]) >= before) break;
    entries.push(entry);
    if (entries.length > limit) entries.shift();
  }
  return entries.reverse();
}

/** Some of the oldest records of a kind. */
export interface OldestEnded<T> {
  ended: T[];
  /** The id behind which to go on; undefined when there are no more of that age. */
  next: string | undefined;
}

/**
 * The ended ones among the oldest records of a kind that were made before a time.
 *
 * @param after look only behind this id; the `next` of the call before
 */
export async function listOldestEnded<T extends { id: string; status: unknown }>(
  store: Store,
  kind: string,
  { before_ms, after, limit }: { before_ms: number; after?: string | undefined; limit: number },
  hasEnded: (status: T["status"]) => boolean,
): Promise<OldestEnded<T>> {
  const ended: T[] = [];
  let looked = 0;
  for await (const entry of scan(store.kv, [kind], { after, batchSize: limit })) {
    const id = String(entry.key[1]);
    if (idTime(id) >= before_ms) break;
    const record = recordOf<T>(entry);
    if (record !== undefined && hasEnded(record.status)) ended.push(record);
    if (++looked === limit) return { ended, next: id };
  }
  return { ended, next: undefined };
}

/**
 * Finds what lists of all triggers hold past its retention, trigger by trigger: many triggers with few entries each
 * take few reads.
 *
 * @param cutoffOf returns the time before which a trigger's entries are, in milliseconds since the epoch
 * @param after look only behind this; the `next` of the call before
 * @param limit how many are looked at, at most
 * @returns `next` is the start of the next page; undefined after the last one
 */
export async function listOldOfTriggers(
  { kv }: Store,
  kind: "trigger_run" | "trigger_log",
  cutoffOf: (triggerId: string) => Promise<number>,
  { after, limit }: { after?: Deno.KvKey | undefined; limit: number },
): Promise<{ old: FoundEntry[]; next: Deno.KvKey | undefined }> {
  const old: FoundEntry[] = [];
  let next: Deno.KvKey | undefined;
  let looked = 0;
  let cutoff = { triggerId: "", before_ms: 0 };
  for await (const entry of scan(kv, [kind], { last: after, batchSize: limit, ids: 2 })) {
    const [, triggerId = "", id = ""] = entry.key.map(String);
    // Behind a young one all of its trigger are young.
    if (next?.length !== 2 || next[1] !== triggerId) {
      if (cutoff.triggerId !== triggerId) {
        cutoff = { triggerId, before_ms: await cutoffOf(triggerId) };
      }
      const isOld = idTime(id) < cutoff.before_ms;
      if (isOld) old.push(entry);
      next = isOld ? entry.key : [kind, triggerId];
    }
    // Before the next is asked for, which would read another batch.
    if (++looked === limit) return { old, next };
  }
  return { old, next: undefined };
}
