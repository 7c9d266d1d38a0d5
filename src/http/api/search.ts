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
  matches?: (record: T) => boolean | Promise<boolean>;
  /** True when this record, and so every later one, is too old to be wanted. */
  isPast?: (record: T) => boolean;
}

/**
 * Searches records, newest first. A search with few results ends early: then `next` says where to continue,
 * and the page holds fewer results than asked for, or none.
 */
export async function search<T extends { id: string }>(
  read: (page: Page) => Promise<Listed<T>>,
  { limit, cursor, filters = {}, matches, isPast }: SearchOptions<T>,
): Promise<Listed<T>> {
  const hasValues = matcher(filters);
  const isWhole = hasValues === undefined && matches === undefined;
  const results: T[] = [];
  let before = cursor;
  let scanned = 0;
  // Where most records match, the first batch is the page.
  for (let size = limit;; size *= 2) {
    const batch = await read({ before, limit: isWhole ? limit : Math.min(size, BATCH_MAX) });
    for (const [index, record] of batch.records.entries()) {
      if (isPast?.(record)) return { records: results, next: undefined };
      scanned++;
      const isWanted = (hasValues?.(record) ?? true) && (await matches?.(record) ?? true);
      if (isWanted) results.push(record);
      if (results.length < limit && scanned < SCANNED_MAX) continue;
      const isLast = index === batch.records.length - 1 && batch.next === undefined;
      return { records: results, next: isLast ? undefined : record.id };
    }
    if (batch.next === undefined) return { records: results, next: undefined };
    before = batch.next;
  }
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
