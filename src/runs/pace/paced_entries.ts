/**
 * Stored runs that have a pace and that nobody has admitted yet, in the order of the commits that accepted them.
 *
 * @module
 */
import { keys } from "../../store/keys.ts";
import type { PendingRun } from "../../store/records/runs.ts";
import type { Store } from "../../store/store.ts";

/** Counts the runs that are admitted. */
interface Counts {
  /** Notes that all runs which were accepted before a commit are admitted. */
  countedUpTo(versionstamp: string): void;
}

/** Some runs of one listing. */
export class PacedEntries {
  /** A commit before the listing, which shows all earlier ones; undefined where nobody else commits. */
  readonly #before: string | undefined;
  readonly #counts: Counts | undefined;
  readonly #found: { pending: PendingRun; versionstamp: string }[] = [];

  private constructor(before: string | undefined, counts: Counts | undefined) {
    this.#before = before;
    this.#counts = counts;
  }

  /**
   * Begins before the listing. Where instances share the database, a listing is read in parts, so that it may show a
   * later commit and not an earlier one: what was committed after a mark waits for the next listing.
   *
   * @param counts is told up to which commit all that was accepted is admitted
   */
  static async begin({ shared, intake }: Store, counts?: Counts): Promise<PacedEntries> {
    if (shared === undefined) return new PacedEntries(undefined, counts);
    let before = "";
    await intake.commit({
      writes: () => [{ key: keys.paceMark(shared.id), value: true }],
      stored: (versionstamp) => before = versionstamp,
    });
    return new PacedEntries(before, counts);
  }

  /** Adds a run that has a pace. */
  add(pending: PendingRun, versionstamp: string): void {
    this.#found.push({ pending, versionstamp });
  }

  /**
   * Admits the runs. The listing must be complete.
   *
   * @param admit called for each, in their order
   * @param isOurs returns false for one that another instance may withdraw
   * @returns false when some have to be looked for again
   */
  admit(
    admit: (pending: PendingRun) => void,
    isOurs: (pending: PendingRun) => boolean = () => true,
  ): boolean {
    const before = this.#before;
    const ready = this.#found.filter(({ versionstamp }) =>
      before === undefined || versionstamp < before
    );
    ready.sort((one, other) => one.versionstamp < other.versionstamp ? -1 : 1);
    // One that may be withdrawn holds up those behind it.
    const end = ready.findIndex(({ pending }) => !isOurs(pending));
    const admitted = end < 0 ? ready : ready.slice(0, end);
    for (const { pending } of admitted) admit(pending);
    if (before !== undefined) {
      this.#counts?.countedUpTo(ready[admitted.length]?.versionstamp ?? before);
    }
    return admitted.length === this.#found.length;
  }
}
