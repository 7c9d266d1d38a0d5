/**
 * Lists that show a part of what there is, without an index for it.
 *
 * @module
 */
import type { Listed, Page } from "../../store/lists.ts";

/** How many records one request looks at. */
const LOOKED_AT_MAX = 2_000;
const BATCH_MAX = 200;

/** Which records are wanted. */
export interface SearchOptions<T> {
  /** How many of them at most. */
  limit: number;
  /** Look only at those older than this one. */
  cursor: string | undefined;
  /** Whether a record is one of them; all are when absent. */
  matches?: (record: T) => boolean;
  /** Whether this record and all behind it are too old to be wanted. */
  isPast?: (record: T) => boolean;
}

/**
 * Looks for records, newest first. A search with few results ends all the same: then there is a `next`
 * to go on with, and fewer results than asked for, or none.
 */
export async function search<T extends { id: string }>(
  read: (page: Page) => Promise<Listed<T>>,
  { limit, cursor, matches, isPast }: SearchOptions<T>,
): Promise<Listed<T>> {
  const found: T[] = [];
  let before = cursor;
  let looked = 0;
  for (;;) {
    const batch = await read({ before, limit: matches ? BATCH_MAX : limit });
    for (const [index, record] of batch.records.entries()) {
      if (isPast?.(record)) return { records: found, next: undefined };
      looked++;
      if (matches?.(record) ?? true) found.push(record);
      if (found.length < limit && looked < LOOKED_AT_MAX) continue;
      const isLast = index === batch.records.length - 1 && batch.next === undefined;
      return { records: found, next: isLast ? undefined : record.id };
    }
    if (batch.next === undefined) return { records: found, next: undefined };
    before = batch.next;
  }
}
