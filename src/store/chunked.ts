/**
 * Goes through stored records in the background and removes some of them: part by part, with a rest after
 * each, so that launches hardly slow down.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import type { Write } from "./change.ts";
import type { Store } from "./store.ts";

/** Writes of one commit. Launches wait while it is under way, a millisecond or two. */
const WRITES_MAX = 100;
/**
 * Length of the rest after a part, as a multiple of the part's duration: the database has one thread, and
 * this share of its time belongs to launches. Under load a part takes longer, and so does the rest.
 */
const REST_RATIO = 10;
/** With more rest than this, what has to be removed could come faster than it goes. */
const REST_MAX_MS = 20;

/** Some of what is gone through. */
export interface Part<Place> {
  /** Deletes of the records to remove. They may go into several commits. */
  writes: readonly Write[];
  /** Number of records to remove. */
  count: number;
  /** Start of the next page; undefined after the last one. */
  next: Place | undefined;
}

export interface InPartsOptions {
  store: Store;
  /** Aborted when the service stops: nothing is begun after it. */
  signal: AbortSignal;
  /** The first part of keys that may be written anew: what was, since its page was read, stays. */
  renewed?: string;
}

/**
 * Goes through pages, and removes what each of them says. The next one is read when that is done, so there
 * is never more than one in memory.
 *
 * @param read reads the page behind a place, or the first
 * @returns how many were removed
 */
export async function removeInParts<Place>(
  { store, signal, renewed }: InPartsOptions,
  read: (after: Place | undefined) => Promise<Part<Place>>,
): Promise<number> {
  let removed = 0;
  let after: Place | undefined;
  while (!signal.aborted) {
    using written = renewed === undefined ? undefined : store.committer.watch(renewed);
    const { writes, count, next } = await thenRest(() => read(after));
    for (let start = 0; start < writes.length; start += WRITES_MAX) {
      if (start > 0 && signal.aborted) return removed;
      const part = writes.slice(start, start + WRITES_MAX);
      const change = { writes: () => part.filter(({ key }) => !written?.has(key)) };
      await thenRest(() => store.committer.commit(change));
    }
    removed += count;
    if (next === undefined) break;
    after = next;
  }
  return removed;
}

/** Does a part of the work, and rests. */
export async function thenRest<T>(work: () => Promise<T>): Promise<T> {
  const began_ms = performance.now();
  const result = await work();
  const rest_ms = Math.min(REST_MAX_MS, REST_RATIO * (performance.now() - began_ms));
  await delay(rest_ms);
  return result;
}
