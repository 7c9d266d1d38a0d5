/**
 * Failures of work that is tried again with each tick: the log has one line for those that are alike, until all of
 * them are over.
 *
 * @module
 */

/** The failures of jobs that last. */
export class Troubles {
  /** The kind of each job's failure. */
  readonly #kinds = new Map<string, string>();
  /** The number of the jobs with a failure of a kind. */
  readonly #jobs = new Map<string, number>();

  /** Notes a failure of a job. Returns true where it is to be logged. */
  begin(id: string, failure: string): boolean {
    if (this.#kinds.has(id)) return false;
    // An error of the network names a port, which is another one each time.
    const kind = failure.replaceAll(/\d+/g, "#");
    const count = this.#jobs.get(kind) ?? 0;
    this.#kinds.set(id, kind);
    this.#jobs.set(kind, count + 1);
    return count === 0;
  }

  /** Notes that a job has no failure any more. */
  end(id: string): void {
    const kind = this.#kinds.get(id);
    if (kind === undefined) return;
    this.#kinds.delete(id);
    const count = this.#jobs.get(kind) ?? 0;
    if (count > 1) this.#jobs.set(kind, count - 1);
    else this.#jobs.delete(kind);
  }
}
