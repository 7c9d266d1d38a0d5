/**
 * A cache of ended runs: pollers ask for the same run again and again, and an ended run does not change until
 * it is removed.
 *
 * @module
 */
import { evictOldest } from "../../platform/evict_oldest.ts";
import type { Run } from "./runs.ts";

/** Limit of the cached runs. Nearly all take a kilobyte or two, none more than 60. */
const RUNS_MAX = 500;

/** The result of reading an ended run: undefined when it is damaged, null when there is none. */
type Read = Promise<Run | undefined | null>;

/** The ended runs that were read last. */
export class EndedRuns {
  readonly #runs = new Map<string, Run>();
  /** The reads under way. Who asks for the same run meanwhile gets what they read. */
  readonly #reads = new Map<string, Read>();

  /** A run from memory, or else what is read in its place. */
  async get(id: string, read: () => Read): Read {
    return this.#runs.get(id) ?? await (this.#reads.get(id) ?? this.#read(id, read));
  }

  /** To be told of each key that is written, before that and after it. */
  written(key: Deno.KvKey): void {
    if (key[0] !== "run") return;
    const id = String(key[1]);
    this.#runs.delete(id);
    this.#reads.delete(id);
  }

  async #read(id: string, read: () => Read): Read {
    const reading = read();
    this.#reads.set(id, reading);
    try {
      const run = await reading;
      // Else it was written meanwhile, and this may be what it was before.
      if (run && this.#reads.get(id) === reading) this.#keep(id, run);
      return run;
    } finally {
      if (this.#reads.get(id) === reading) this.#reads.delete(id);
    }
  }

  #keep(id: string, run: Run): void {
    this.#runs.set(id, run);
    evictOldest(this.#runs, RUNS_MAX);
  }
}
