/**
 * Goes through stored records in the background and removes some of them: batch by batch, with a pause
 * after each, so that launches hardly slow down.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import type { Write } from "./change.ts";
import type { Store } from "../store.ts";

/** Writes of one commit. Launches wait while it is under way, a millisecond or two. */
const WRITES_MAX = 100;
/**
 * Length of the pause after a batch, as a multiple of the batch's duration: the database has one thread, and
 * this share of its time belongs to launches. Under load a batch takes longer, and so does the pause.
 */
const PAUSE_RATIO = 10;
/** With longer pauses, records could come faster than they are removed. */
const PAUSE_MAX_MS = 20;

/** A page of records, and the deletes of those to remove. */
export interface Batch<Place> {
  /** Deletes of the records to remove. They may go into several commits. */
  writes: readonly Write[];
  /** Number of records to remove. */
  count: number;
  /** Start of the next page; undefined after the last one. */
  next: Place | undefined;
}

interface RemovalOptions {
  store: Store;
  /** Aborted when the service stops: nothing is begun after it. */
  signal: AbortSignal;
  /** The first part of keys that may be written again: a key that was written since its page was read stays. */
  renewed?: string;
}

/**
 * Goes through pages of records, and removes those that each page names. One page at a time is in memory.
 *
 * @param read reads the page behind a place, or the first
 * @returns how many were removed
 */
export async function removeInBatches<Place>(
  { store, signal, renewed }: RemovalOptions,
  read: (after: Place | undefined) => Promise<Batch<Place>>,
): Promise<number> {
  let removed = 0;
  let after: Place | undefined;
  while (!signal.aborted) {
    using written = renewed === undefined ? undefined : store.committer.watch(renewed);
    const { writes, count, next } = await withPause(() => read(after));
    for (let start = 0; start < writes.length; start += WRITES_MAX) {
      if (start > 0 && signal.aborted) return removed;
      const part = writes.slice(start, start + WRITES_MAX);
      const change = { writes: () => part.filter(({ key }) => !written?.has(key)) };
      await withPause(() => store.committer.commit(change));
    }
    removed += count;
    if (next === undefined) break;
    after = next;
  }
  return removed;
}

/** Does a part of the work, and waits. */
export async function withPause<T>(work: () => Promise<T>): Promise<T> {
  const began_ms = performance.now();
  const result = await work();
  const pause_ms = Math.min(PAUSE_MAX_MS, PAUSE_RATIO * (performance.now() - began_ms));
  await delay(pause_ms);
  return result;
}
