/**
 * Shares work among callers that want the same result at the same time.
 *
 * @module
 */
import { abortable } from "@std/async/abortable";
import { StagingError } from "./errors.ts";

/** A caller that waits for a result. */
export interface Waiter {
  /** Aborted when the caller does not need the result any more. */
  signal: AbortSignal;
  /** Gets the number of bytes so far, or the expected number. */
  onBytes(total: number): void;
  /** Gets messages for those who wait. */
  onNote(message: string): void;
}

interface Work<T> {
  result: Promise<T>;
  waiters: Set<Waiter>;
  /** The callers that wait for the result or use it. */
  users: number;
  abandoned: AbortController;
}

/** Shares work by a key. */
export class SharedWork<T extends Disposable> {
  readonly #underWay = new Map<string, Work<T>>();
  /** Work that has not ended, also when nobody waits for it. */
  readonly #unfinished = new Set<Promise<unknown>>();

  /**
   * Begins work, or joins work of the same key, and calls `use` with its result. Disposes of the result when
   * the last caller is done with it. Aborts work that nobody waits for.
   *
   * @param begin gets a waiter that stands for all callers
   * @throws the error of the work, or the reason of the waiter's signal
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
      return await use(await abortable(work.result, waiter.signal));
    } finally {
      work.waiters.delete(waiter);
      if (--work.users === 0) this.#leave(key, work);
    }
  }

  /** Waits until no work is under way. */
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
    work.abandoned.abort(new StagingError("Nobody waits for it any more"));
    // Failed work has no result to dispose of.
    work.result.then((result) => result[Symbol.dispose](), () => {});
  }

  /** Later callers begin new work. */
  #forget(key: string, work: Work<T>): void {
    if (this.#underWay.get(key) === work) this.#underWay.delete(key);
  }
}
