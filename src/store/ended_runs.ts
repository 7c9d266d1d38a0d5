/**
 * Ended runs in memory: who polls asks for the same run again and again, and an ended run stays as it is
 * until it is removed.
 *
 * @module
 */
import type { Run } from "./runs.ts";

/** How many are kept. Nearly all take a kilobyte or two, none more than 60. */
const RUNS_MAX = 500;

/** The ended runs that were read last. */
export class EndedRuns {
  readonly #runs = new Map<string, Run>();
  /** How often a run was stored or removed: what was read before that may not be kept. */
  #changes = 0;

  /** A run from memory, or else what is read in its place. */
  async get(
    id: string,
    read: () => Promise<Run | null | undefined>,
  ): Promise<Run | null | undefined> {
    const kept = this.#runs.get(id);
    if (kept) return kept;
    const changes = this.#changes;
    const run = await read();
    if (run && changes === this.#changes) this.#keep(id, run);
    return run;
  }

  /** To be told of each key that is written, before any later read can see it. */
  written(key: Deno.KvKey): void {
    if (key[0] !== "run") return;
    this.#changes++;
    this.#runs.delete(String(key[1]));
  }

  #keep(id: string, run: Run): void {
    const oldest = this.#runs.keys().next();
    if (this.#runs.size >= RUNS_MAX && !oldest.done) this.#runs.delete(oldest.value);
    this.#runs.set(id, run);
  }
}
