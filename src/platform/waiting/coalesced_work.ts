/**
 * Work that must not overlap with itself, and whose result must be no older than the request for
 * it. Requests that come while it runs share one more run, which begins after them.
 *
 * @module
 */

/** A piece of work that runs once at a time. */
export class CoalescedWork<T> {
  readonly #work: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  /** Returns the result of a run that begins now or later. */
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

  /** Resolves when it does not run and no run is requested. */
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
