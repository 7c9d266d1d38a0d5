/**
 * Work that must not overlap with itself and whose result must be fresh for each who asks: who asks
 * while it runs gets the result of the next time, which begins after they asked.
 *
 * @module
 */

/** Does one piece of work at a time, and keeps at most one more waiting, shared by all who wait. */
export class OneAtATime<T> {
  readonly #work: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  /** Does the work, beginning no earlier than now. */
  run(): Promise<T> {
    if (this.#next) return this.#next;
    if (!this.#running) return this.#begin();
    const begin = () => {
      this.#next = undefined;
      return this.#begin();
    };
    this.#next = this.#running.then(begin, begin);
    return this.#next;
  }

  /** Resolves when nothing is done and nobody waits. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running.catch(() => {});
  }

  #begin(): Promise<T> {
    const running = this.#work().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
