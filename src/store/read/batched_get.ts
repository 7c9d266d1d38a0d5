/**
 * Reads single values. Those that are asked for at the same time are read together.
 *
 * A read is a message to the database's thread and one back, which costs more than the read itself, and it
 * waits for the commit that is under way there. Reads that are asked for meanwhile go into the next message.
 *
 * @module
 */
import { isUndecodable, readValue } from "./scan.ts";

/** As many keys as one read of Deno KV takes. */
const KEYS_MAX = 10;

interface Waiting {
  key: Deno.KvKey;
  resolve(value: unknown): void;
  reject(reason: unknown): void;
}

/** Reads single values of a database. */
export class Reads {
  readonly #kv: Deno.Kv;
  #waiting: Waiting[] = [];
  #isReading = false;

  constructor(kv: Deno.Kv) {
    this.#kv = kv;
  }

  /**
   * Reads a value as it is stored at the time of the call or later; null when there is none, or it cannot
   * be decoded. Values that are asked for together need not be of one moment.
   */
  read(key: Deno.KvKey): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ key, resolve, reject });
    if (!this.#isReading) void this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#isReading = true;
    while (this.#waiting.length > 0) {
      await this.#readTogether(this.#waiting.splice(0, KEYS_MAX));
    }
    this.#isReading = false;
  }

  /** Never rejects: who asked is told. */
  async #readTogether(batch: readonly Waiting[]): Promise<void> {
    try {
      const entries = await this.#kv.getMany<unknown[]>(batch.map(({ key }) => key));
      for (const [index, { resolve }] of batch.entries()) resolve(entries[index]?.value ?? null);
    } catch (error) {
      for (const { key, resolve, reject } of batch) {
        // One damaged value makes the read of all fail: the others are read without it.
        if (isUndecodable(error)) readValue(this.#kv, key).then(resolve, reject);
        else reject(error);
      }
    }
  }
}
