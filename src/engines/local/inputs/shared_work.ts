/**
 * Work that is done once for all who want its result at the same time.
 *
 * @module
 */
import { unlessAborted } from "../../../platform/waiting/unless_aborted.ts";

/** One who waits for a result. */
export interface Waiter {
  /** Aborted when this one does not want it any more. */
  signal: AbortSignal;
  /** Told how many bytes there are so far, or will be. */
  onBytes(total: number): void;
  /** Told what those who wait should know. */
  onNote(message: string): void;
}

interface Work<T> {
  result: Promise<T>;
  waiters: Set<Waiter>;
  /** How many wait for the result, or use it. */
  users: number;
  abandoned: AbortController;
}

/** Shares work by a key. */
export class SharedWork<T extends Disposable> {
  readonly #underWay = new Map<string, Work<T>>();
  /** What is under way, and what nobody waits for any more but is not over yet. */
  readonly #unfinished = new Set<Promise<unknown>>();

  /**
   * Begins work, or joins what is under way, and uses its result, which is disposed of when the last of
   * those who share it is done with it. Work that nobody waits for any more is aborted.
   *
   * @param begin tells all who wait, through the waiter that it is given
   * @throws what the work throws, or the reason of the waiter's signal
   */
  async use<R>(
    key: string,
    waiter: Waiter,
    begin: (all: Waiter) => Promise<T>,
    use: (result: T) => Promise<R>,
  ): Promise<R> {
    const work = this.#underWay.get(key) ?? this.#begin(key, begin);
    work.users++;
    work.waiters.add(waiter);
    try {
      return await use(await unlessAborted(work.result, waiter.signal));
    } finally {
      work.waiters.delete(waiter);
      if (--work.users === 0) this.#leave(key, work);
    }
  }

  /** Waits until nothing is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#unfinished);
  }

  #begin(key: string, begin: (all: Waiter) => Promise<T>): Work<T> {
    const abandoned = new AbortController();
    const waiters = new Set<Waiter>();
    const result = begin({
      signal: abandoned.signal,
      onBytes: (total) => waiters.forEach((waiter) => waiter.onBytes(total)),
      onNote: (message) => waiters.forEach((waiter) => waiter.onNote(message)),
    });
    const work: Work<T> = { result, waiters, users: 0, abandoned };
    this.#underWay.set(key, work);
    const over = result.then(() => {}, () => {}).finally(() => {
      this.#unfinished.delete(over);
      this.#forget(key, work);
    });
    this.#unfinished.add(over);
    return work;
  }

  #leave(key: string, work: Work<T>): void {
    this.#forget(key, work);
    work.abandoned.abort(new Error("Nobody waits for it any more"));
    // When it failed, there is nothing to dispose of.
    work.result.then((result) => result[Symbol.dispose](), () => {});
  }

  /** Those who come from here on begin anew. */
  #forget(key: string, work: Work<T>): void {
    if (this.#underWay.get(key) === work) this.#underWay.delete(key);
  }
}
