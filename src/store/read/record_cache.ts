/**
 * A cache of records that do not change until they are removed, such as ended runs: pollers ask for the
 * same one again and again. Where several instances share the database, each request reads.
 *
 * @module
 */
import { evictOldest } from "../../platform/evict_oldest.ts";
import type { Store } from "../store.ts";

/** The result of reading a record: undefined when it is damaged, null when there is none. */
type Read<T> = Promise<T | undefined | null>;

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
      // Of what another instance removes nothing is told here.
      const made = cache = new RecordCache<T>(store.shared ? 0 : this.#size_max);
      this.#caches.set(store, cache);
      store.committer.onWrite(([kind, id]) => {
        if (kind === this.#kind) made.forget(String(id));
      });
    }
    return cache;
  }
}

/** The records of one kind and database that were read last. */
class RecordCache<T extends object> {
  readonly #size_max: number;
  readonly #records = new Map<string, T>();
  /** The reads under way. Who asks for the same record meanwhile gets what they read. */
  readonly #reads = new Map<string, Read<T>>();

  constructor(size_max: number) {
    this.#size_max = size_max;
  }

  /** Returns a record that is in memory; undefined for another one. */
  inMemory(id: string): T | undefined {
    return this.#records.get(id);
  }

  /** Returns a record from memory, or else what `read` returns. */
  async get(id: string, read: () => Read<T>): Read<T> {
    if (this.#size_max === 0) return await read();
    return this.#records.get(id) ?? await (this.#reads.get(id) ?? this.#read(id, read));
  }

  /** Forgets a record, and what is being read of it. */
  forget(id: string): void {
    this.#records.delete(id);
    this.#reads.delete(id);
  }

  async #read(id: string, read: () => Read<T>): Read<T> {
    const reading = read();
    this.#reads.set(id, reading);
    try {
      const record = await reading;
      // Otherwise it was written meanwhile, and this may be what it was before.
      if (record && this.#reads.get(id) === reading) this.#keep(id, record);
      return record;
    } finally {
      if (this.#reads.get(id) === reading) this.#reads.delete(id);
    }
  }

  #keep(id: string, record: T): void {
    this.#records.set(id, record);
    evictOldest(this.#records, this.#size_max);
  }
}
