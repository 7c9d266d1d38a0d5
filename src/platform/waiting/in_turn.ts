/**
 * Work in turn: what concerns the same thing is done one after the other.
 *
 * @module
 */

/** Does work in turn, by key. */
export class InTurn {
  /** The last work of each key. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does work after all earlier work of its key, however that ended. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const working = before.then(work);
    const over = working.catch(() => {}).finally(() => {
      if (this.#last.get(key) === over) this.#last.delete(key);
    });
    this.#last.set(key, over);
    return await working;
  }

  /** Resolves when no work is under way. */
  async settled(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
