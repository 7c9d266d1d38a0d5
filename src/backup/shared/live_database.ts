/**
 * A database that is read while others write to it.
 *
 * @module
 */
import { UnavailableError } from "../../platform/errors.ts";
import { scan } from "../../store/read/scan.ts";
import type { StoredRecord } from "./record_chunks.ts";

const BATCH_SIZE = 500;
/** Reads of single records that are under way at a time. */
const AT_ONCE = 16;

/** A record with the versionstamp of the commit that has stored it. */
export interface ReadRecord extends StoredRecord {
  versionstamp: string;
}

/** A database that is read, and since when. */
export interface LiveDatabase {
  kv: Deno.Kv;
  /** The versionstamp of the mark. */
  since: string;
  signal: AbortSignal;
}

/** Reads the records of a kind, or of all kinds under a prefix. */
export async function* recordsOf(
  { kv, signal }: LiveDatabase,
  prefix: Deno.KvKey,
): AsyncGenerator<ReadRecord> {
  for await (const entry of scan(kv, prefix, { batchSize: BATCH_SIZE })) {
    signal.throwIfAborted();
    if (entry.value === undefined) {
      throw new UnavailableError(
        `Cannot back up the database: its record ${entry.key.map(String).join("/")} is damaged`,
        1,
      );
    }
    yield { ...entry, versionstamp: entry.versionstamp ?? "" };
  }
}

/** Reads the records of each of many things, some at a time. */
export async function* inGroups<T>(
  things: Iterable<T>,
  readOne: (thing: T) => Promise<StoredRecord[]>,
): AsyncGenerator<StoredRecord> {
  let group: Promise<StoredRecord[]>[] = [];
  for (const thing of things) {
    group.push(readOne(thing));
    if (group.length < AT_ONCE) continue;
    yield* (await Promise.all(group)).flat();
    group = [];
  }
  yield* (await Promise.all(group)).flat();
}

/** Returns the entries of a read that are there. */
export function present(entries: readonly Deno.KvEntryMaybe<unknown>[]): ReadRecord[] {
  return entries.flatMap(({ key, value, versionstamp }) =>
    versionstamp === null ? [] : [{ key, value, versionstamp }]
  );
}
