/**
 * A database that is read while others write to it.
 *
 * @module
 */
import { isDamaged, isUndecodable, scan } from "../../store/read/scan.ts";
import type { StoredRecord } from "./record_chunks.ts";

const BATCH_SIZE = 500;
/** The most parts of a key behind its kind. */
const KEY_PARTS_MAX = 3;
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
  /** Told of each record that cannot be decoded. It is not in the copy. */
  onDamage(key: Deno.KvKey): void;
}

/** Reads the records of a kind, or of all kinds under a prefix. */
export async function* recordsOf(
  { kv, signal, onDamage }: LiveDatabase,
  prefix: Deno.KvKey,
): AsyncGenerator<ReadRecord> {
  const options = { batchSize: BATCH_SIZE, ids: KEY_PARTS_MAX };
  for await (const { key, value, versionstamp = "" } of scan(kv, prefix, options)) {
    signal.throwIfAborted();
    if (value === undefined) onDamage(key);
    else yield { key, value, versionstamp };
  }
}

/**
 * Reads single records as they were at one moment: those that are there. Damaged ones are left out; who reads all of
 * their kind is told of them.
 */
export async function readTogether(
  { kv }: LiveDatabase,
  keys: readonly Deno.KvKey[],
): Promise<ReadRecord[]> {
  try {
    return present(await kv.getMany<unknown[]>(keys));
  } catch (error) {
    // One damaged value makes the read of all fail.
    if (!isUndecodable(error)) throw error;
  }
  const whole: Deno.KvKey[] = [];
  for (const key of keys) if (!await isDamaged(kv, key)) whole.push(key);
  return present(await kv.getMany<unknown[]>(whole));
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
function present(entries: readonly Deno.KvEntryMaybe<unknown>[]): ReadRecord[] {
  return entries.flatMap(({ key, value, versionstamp }) =>
    versionstamp === null ? [] : [{ key, value, versionstamp }]
  );
}
