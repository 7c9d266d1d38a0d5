/**
 * The launches with a pace that this instance is storing, or has stored, and the leader does not count yet.
 *
 * @module
 */

/** Launches of one trigger. */
interface Launches {
  storing: number;
  older: Stored;
  newer: Stored;
}

interface Stored {
  count: number;
  /** Of the newest commit that has stored some of them. */
  versionstamp: string;
}

const NONE: Stored = { count: 0, versionstamp: "" };

/** Counts launches by their triggers. */
export class Untaken {
  readonly #ofTrigger = new Map<string, Launches>();

  /** Notes a launch that is about to be stored. */
  expect(triggerId: string): void {
    this.#of(triggerId).storing++;
  }

  /** Notes that a launch was not accepted. */
  withdraw(triggerId: string): void {
    this.#of(triggerId).storing--;
  }

  /**
   * Notes that a launch is stored.
   *
   * @param versionstamp of its commit; undefined where it counts as a run that waits from now on
   */
  stored(triggerId: string, versionstamp: string | undefined): void {
    const launches = this.#of(triggerId);
    launches.storing--;
    if (versionstamp === undefined) return;
    const { newer } = launches;
    launches.newer = {
      count: newer.count + 1,
      versionstamp: versionstamp > newer.versionstamp ? versionstamp : newer.versionstamp,
    };
  }

  /**
   * Returns the number of a trigger's launches, or somewhat more.
   *
   * @param countedUpTo of a commit: those that were stored before it count no more
   */
  countOf(triggerId: string, countedUpTo: string): number {
    const launches = this.#ofTrigger.get(triggerId);
    if (launches === undefined) return 0;
    if (launches.newer.versionstamp < countedUpTo) launches.newer = NONE;
    if (launches.older.versionstamp < countedUpTo) {
      launches.older = launches.newer;
      launches.newer = NONE;
    }
    const count = launches.storing + launches.older.count + launches.newer.count;
    if (count === 0) this.#ofTrigger.delete(triggerId);
    return count;
  }

  #of(triggerId: string): Launches {
    const launches = this.#ofTrigger.get(triggerId) ?? { storing: 0, older: NONE, newer: NONE };
    this.#ofTrigger.set(triggerId, launches);
    return launches;
  }
}
