/**
 * The size of a batch of writes against the limits of one atomic operation of Deno KV.
 *
 * @module
 */
import type { Write } from "./change.ts";

/**
 * The limits, with some room left below each. One mutation is the fence's or the wake-up's: a remote
 * database has a fence and no queue. The room covers the bytes of either.
 */
const MUTATIONS_MAX = 999;
const BYTES_MAX = 780 * 1024;
const KEY_BYTES_MAX = 76 * 1024;
/** A batch with less room than this takes no further change. */
const MUTATIONS_LEAST = 15;
const BYTES_LEAST = 64 * 1024;
const KEY_BYTES_LEAST = 4 * 1024;
/** The size of a value whose writer states none. */
const VALUE_BYTES_DEFAULT = 1_024;

/** Adds up what a batch holds. */
export class BatchSize {
  readonly #shared = new Set<string>();
  readonly #reserved: number;
  #mutations: number;
  #bytes = 0;
  #keyBytes = 0;

  /** @param reserved mutations of the operation that are no writes of changes, beside the fence's */
  constructor(reserved = 0) {
    this.#mutations = reserved;
    this.#reserved = reserved;
  }

  /** True when too little room is left for a usual change. */
  get isFull(): boolean {
    return this.#mutations >= MUTATIONS_MAX - MUTATIONS_LEAST ||
      this.#bytes >= BYTES_MAX - BYTES_LEAST || this.#keyBytes >= KEY_BYTES_MAX - KEY_BYTES_LEAST;
  }

  /**
   * Adds the writes of a change if they fit.
   *
   * @returns whether they did
   */
  add(writes: readonly Write[]): boolean {
    let mutations = this.#mutations;
    let bytes = this.#bytes;
    let keyBytes = this.#keyBytes;
    for (const write of writes) {
      if (write.sharedAs !== undefined && this.#shared.has(write.sharedAs)) continue;
      const size = keySize(write.key);
      mutations++;
      keyBytes += size;
      bytes += size * 2 + valueSize(write);
    }
    // One change that is larger than an operation is refused by the database, by itself.
    const isFirst = this.#mutations === this.#reserved;
    const fits = mutations <= MUTATIONS_MAX && bytes <= BYTES_MAX && keyBytes <= KEY_BYTES_MAX;
    if (!fits && !isFirst) return false;
    this.#mutations = mutations;
    this.#bytes = bytes;
    this.#keyBytes = keyBytes;
    for (const { sharedAs } of writes) if (sharedAs !== undefined) this.#shared.add(sharedAs);
    return true;
  }
}

function keySize(key: Deno.KvKey): number {
  let size = 0;
  for (const part of key) size += (typeof part === "string" ? part.length : 9) + 2;
  return size;
}

function valueSize({ value, bytes }: Write): number {
  if (value === undefined) return 0;
  return value instanceof Uint8Array ? value.length : bytes ?? VALUE_BYTES_DEFAULT;
}
