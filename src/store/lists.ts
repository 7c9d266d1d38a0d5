/**
 * Lists of records whose keys are a kind and an id, which sort by the time at which they were made.
 *
 * @module
 */
import { idTime } from "../ids.ts";
import type { Store } from "./store.ts";

/**
 * One page of all records of a kind, newest first.
 *
 * @param before list only those older than this one; the `next` of the page before
 */
export async function listNewest<T extends { id: string }>(
  store: Store,
  kind: string,
  { before, limit }: { before?: string; limit: number },
): Promise<{ records: T[]; next: string | undefined }> {
  const selector = before === undefined
    ? { prefix: [kind] }
    : { prefix: [kind], end: [kind, before] };
  const records: T[] = [];
  for await (const { value } of store.kv.list<T>(selector, { reverse: true, limit })) {
    records.push(value);
  }
  return { records, next: records.length === limit ? records.at(-1)?.id : undefined };
}

/** Some of the oldest records of a kind. */
export interface OldestEnded<T> {
  ended: T[];
  /** The last that was looked at; go on behind it. */
  last: string | undefined;
  /** Whether there are no more of that age. */
  isEnd: boolean;
}

/**
 * The ended ones among the oldest records of a kind that were made before a time.
 *
 * @param after look only behind this id; the `last` of the call before
 */
export async function listOldestEnded<T extends { id: string; status: Status }, Status>(
  store: Store,
  kind: string,
  { before_ms, after, limit }: { before_ms: number; after?: string; limit: number },
  hasEnded: (status: Status) => boolean,
): Promise<OldestEnded<T>> {
  const prefix = [kind];
  const selector = after === undefined ? { prefix } : { prefix, start: [kind, `${after}\0`] };
  const ended: T[] = [];
  let last = after;
  let looked = 0;
  for await (const { value } of store.kv.list<T>(selector, { limit })) {
    if (idTime(value.id) >= before_ms) return { ended, last, isEnd: true };
    last = value.id;
    looked++;
    if (hasEnded(value.status)) ended.push(value);
  }
  return { ended, last, isEnd: looked < limit };
}
