/**
 * Lists that show some of the records that there are, without an index of these.
 *
 * @module
 */
import type { Listed, Page } from "../../store/read/lists.ts";

/** The records that one request reads at most. */
const SCANNED_MAX = 2_000;
const BATCH_MAX = 200;

/** Which records are wanted. */
interface SearchOptions<T> {
  /** Their number at most. */
  limit: number;
  /** Only those older than the record of this id. */
  cursor: string | undefined;
  /** The values that fields must have; any value where undefined. */
  filters?: { readonly [Field in keyof T]?: T[Field] | undefined };
  /** Returns true for a record that is wanted, where its fields have the values. */
  matches?: (record: T) => boolean;
  /** True when this record, and so every later one, is too old to be wanted. */
  isPast?: (record: T) => boolean;
}

/**
 * Searches records, newest first. A search with few results ends early: then `next` says where to continue,
 * and the page holds fewer results than asked for, or none.
 */
export async function search<T extends { id: string }>(
  read: (page: Page) => Promise<Listed<T>>,
  { limit, cursor, filters = {}, isPast, ...options }: SearchOptions<T>,
): Promise<Listed<T>> {
  const matches = both(matcher(filters), options.matches);
  const results: T[] = [];
  let before = cursor;
  let scanned = 0;
  for (;;) {
    const batch = await read({ before, limit: matches ? BATCH_MAX : limit });
    for (const [index, record] of batch.records.entries()) {
      if (isPast?.(record)) return { records: results, next: undefined };
      scanned++;
      if (matches?.(record) ?? true) results.push(record);
      if (results.length < limit && scanned < SCANNED_MAX) continue;
      const isLast = index === batch.records.length - 1 && batch.next === undefined;
      return { records: results, next: isLast ? undefined : record.id };
    }
    if (batch.next === undefined) return { records: results, next: undefined };
    before = batch.next;
  }
}

function both<T>(
  one: ((record: T) => boolean) | undefined,
  other: ((record: T) => boolean) | undefined,
): ((record: T) => boolean) | undefined {
  return one && other ? (record) => one(record) && other(record) : one ?? other;
}

/** Undefined when every record matches. */
function matcher<T>(
  filters: NonNullable<SearchOptions<T>["filters"]>,
): ((record: T) => boolean) | undefined {
  // `Object.keys` forgets the names of the fields.
  const fields = (Object.keys(filters) as (keyof T)[])
    .filter((field) => filters[field] !== undefined);
  if (fields.length === 0) return undefined;
  return (record) => fields.every((field) => record[field] === filters[field]);
}
