/**
 * Turns: work on one execution is done in sequence, and work on different ones at the same time.
 *
 * @module
 */

/** Gives each execution one turn after the other. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does work after all work of the same execution that came before. */
  take<T>(executionId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(executionId) ?? Promise.resolve();
    const result = before.then(work);
    const over = result.catch(() => {}).finally(() => {
      if (this.#last.get(executionId) === over) this.#last.delete(executionId);
    });
    this.#last.set(executionId, over);
    return result;
  }

  /** Resolves when no work is under way. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
