/**
 * Claiming the pending runs that other instances have accepted, before they are performed, and counting those
 * that are to be claimed.
 *
 * @module
 */
import { type ClaimMark, claimMarks, claimUpTo } from "../store/commit/claims.ts";
import type { Intake } from "../store/commit/committer.ts";
import type { PendingEntry, PendingRun } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";

/** Some pending runs of other instances. */
export class Claims {
  readonly #marks: ReadonlyMap<string, ClaimMark>;
  readonly #intake: Pick<Intake, "commit">;
  readonly #entries: { pending: PendingRun; versionstamp: string }[] = [];
  readonly #met: Set<string>;
  #size = 0;
  /** True when some could not be claimed: one of them may have been withdrawn meanwhile. */
  isIncomplete = false;

  private constructor(
    marks: ReadonlyMap<string, ClaimMark>,
    { intake, met }: { intake: Pick<Intake, "commit">; met: Set<string> },
  ) {
    this.#marks = marks;
    this.#intake = intake;
    this.#met = met;
  }

  /**
   * Begins before the runs are read: a withdrawal in between changes the mark of its instance.
   *
   * @param met the instances that were met so far
   */
  static async begin({ kv, intake }: Store, met: Set<string>): Promise<Claims> {
    return new Claims(await claimMarks(kv), { intake, met });
  }

  /** Number of the runs that are performed as soon as there is a place: others wait elsewhere. */
  get size(): number {
    return this.#size;
  }

  /** Tells whether a run is one that its own instance performs, which lives. */
  isElsewhere({ own, worker }: PendingRun): boolean {
    return own === true && this.#marks.has(worker);
  }

  /** Adds a run that is to be claimed. */
  add({ versionstamp }: PendingEntry, pending: PendingRun): void {
    this.#entries.push({ pending, versionstamp });
    if (pending.pace === undefined) this.#size++;
  }

  /** Claims the runs, and returns those that are claimed. */
  async commit(): Promise<PendingRun[]> {
    const byInstance = Map.groupBy(this.#entries, ({ pending }) => pending.worker);
    const claimed = await Promise.all(Array.from(byInstance, async ([id, entries]) => {
      const mark = this.#marks.get(id);
      // One without a mark may have joined since the marks were read. If it was met before, it is gone, and
      // withdraws nothing any more.
      const isClaimed = mark ? await this.#claim(mark, entries) : this.#met.has(id);
      if (isClaimed) return entries;
      this.isIncomplete = true;
      return [];
    }));
    this.#met.clear();
    for (const id of [...this.#marks.keys(), ...byInstance.keys()]) this.#met.add(id);
    return claimed.flat().map(({ pending }) => pending);
  }

  async #claim(
    mark: ClaimMark,
    entries: readonly { versionstamp: string }[],
  ): Promise<boolean> {
    const newest = entries.reduce(
      (newest, { versionstamp }) => versionstamp > newest ? versionstamp : newest,
      "",
    );
    return await claimUpTo(this.#intake, mark, newest);
  }
}

/**
 * Counts the runs that other instances have accepted and this one has not claimed, or somewhat more: a launch that
 * was withdrawn, or was claimed before it was counted, counts until a pass has looked at all pending runs.
 */
export class Unclaimed {
  /** Negative where more are claimed than were counted yet. */
  #count = 0;
  /** Those that were counted since the pass began. */
  #meanwhile = 0;
  #isSomeLeft = false;

  get count(): number {
    return Math.max(0, this.#count);
  }

  /** True when a pass may find some. */
  get isSome(): boolean {
    return this.#isSomeLeft || this.#count > 0;
  }

  /** Forgets what was accepted: it is about to be listed. */
  reset(): void {
    this.#count = this.#meanwhile = 0;
  }

  /** Notes accepted runs. */
  accepted(count: number): void {
    this.#count += count;
    this.#meanwhile += count;
  }

  /** Notes that a pass over the pending runs begins. */
  beginPass(): void {
    this.#meanwhile = 0;
  }

  /**
   * Notes the end of a pass.
   *
   * @param claimed the runs that it has claimed
   * @param isComplete false when it has left some pending runs, for lack of room
   */
  endPass(claimed: number, isComplete: boolean): void {
    this.#count = isComplete ? this.#meanwhile : this.#count - claimed;
    this.#isSomeLeft = !isComplete;
  }
}
