/**
 * A cache of records that do not change until they are removed, such as ended runs: pollers ask for the
 * same one again and again. Where several instances share the database, nothing tells one what another removes: there
 * only who takes what is some seconds old is answered from memory.
 *
 * @module
 */
import { evictOldest } from "../../platform/evict_oldest.ts";
import type { Store } from "../store.ts";

/** The result of reading a record: undefined when it is damaged, null when there is none. */
type Read<T> = Promise<T | undefined | null>;

/** A record is in memory for so long where several instances share the database. */
const SHARED_AGE_MAX_MS = 10_000;

/** The records of one kind that were read last, by their database. */
export class RecordCaches<T extends object> {
  readonly #kind: string;
  readonly #size_max: number;
  readonly #caches = new WeakMap<Store, RecordCache<T>>();

  /** @param kind the first part of the records' keys; the second is the id */
  constructor(kind: string, size_max: number) {
    this.#kind = kind;
    this.#size_max = size_max;
  }

  /** The cache of a database. */
  of(store: Store): RecordCache<T> {
    let cache = this.#caches.get(store);
    if (cache === undefined) {
      const made = cache = new RecordCache<T>(this.#size_max, store.shared !== undefined);
      this.#caches.set(store, cache);
      store.committer.onWrite(([kind, id]) => {
        if (kind === this.#kind) made.forget(String(id));
      });
    }
    return cache;
  }
}

/** A record, and the time from which on it was read. */
interface Kept<T> {
  record: T;
  read_ms: number;
}

/** The records of one kind and database that were read last. */
class RecordCache<T extends object> {
  readonly #size_max: number;
  readonly #isShared: boolean;
  readonly #records = new Map<string, Kept<T>>();
  /** The reads under way. Who asks for the same record meanwhile gets what they read. */
  readonly #reads = new Map<string, Read<T>>();

  constructor(size_max: number, isShared: boolean) {
    this.#size_max = size_max;
    this.#isShared = isShared;
  }

  /** Returns a record that is in memory, and was read lately; undefined for another one. */
  inMemory(id: string): T | undefined {
    const kept = this.#records.get(id);
    const age_max_ms = this.#isShared ? SHARED_AGE_MAX_MS : Infinity;
    return kept && performance.now() - kept.read_ms <= age_max_ms ? kept.record : undefined;
  }

  /** Returns a record from memory, where nobody else can remove it, or else what `read` returns. */
  async get(id: string, read: () => Read<T>): Read<T> {
    const kept = this.#isShared ? undefined : this.inMemory(id);
    return kept ?? await (this.#reads.get(id) ?? this.#read(id, read));
  }

  /** Forgets a record, and what is being read of it. */
  forget(id: string): void {
    this.#records.delete(id);
    this.#reads.delete(id);
  }

  async #read(id: string, read: () => Read<T>): Read<T> {
    const read_ms = performance.now();
    const reading = read();
    // Another instance may write it meanwhile: then a read that is under way is too old for who asks now.
    if (!this.#isShared) this.#reads.set(id, reading);
    try {
      const record = await reading;
      // Otherwise it was written meanwhile, and this may be what it was before.
      const isCurrent = this.#isShared || this.#reads.get(id) === reading;
      if (record && isCurrent) this.#keep(id, { record, read_ms });
      return record;
    } finally {
      if (this.#reads.get(id) === reading) this.#reads.delete(id);
    }
  }

  #keep(id: string, kept: Kept<T>): void {
    // Behind all others: what is read again is not the oldest.
    this.#records.delete(id);
    this.#records.set(id, kept);
    evictOldest(this.#records, this.#size_max);
  }
}
