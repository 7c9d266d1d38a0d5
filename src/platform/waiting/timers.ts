/**
 * Waiting by a {@linkcode Clock}.
 *
 * @module
 */
import type { Clock } from "../clock.ts";

/** Waits for some milliseconds, or until the signal aborts. Never rejects. */
export function pause(clock: Clock, delay_ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => {
    cancel();
    signal?.removeEventListener("abort", end);
    resolve();
  };
  const cancel = clock.after(delay_ms, end);
  signal?.addEventListener("abort", end, { once: true });
  return promise;
}

/**
 * Waits for a promise for some milliseconds at most, or until the signal aborts.
 *
 * @returns its value; undefined when the wait is over first
 */
export async function within<T>(
  clock: Clock,
  time_ms: number,
  promise: Promise<T>,
  signal?: AbortSignal,
): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const end = () => resolve(undefined);
  const cancel = clock.after(time_ms, end);
  signal?.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([promise, late]);
  } finally {
    cancel();
    signal?.removeEventListener("abort", end);
  }
}

/**
 * Calls a function again and again, each time after a pause.
 *
 * @returns ends it
 */
export function every(clock: Clock, pause_ms: number, call: () => void): () => void {
  let cancel = () => {};
  const wait = () => {
    cancel = clock.after(pause_ms, () => {
      wait();
      call();
    });
  };
  wait();
  return () => cancel();
}

/** At most one call that is to come. */
export class NextCall {
  readonly #clock: Clock;
  #cancel: (() => void) | undefined;
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls a function after a time, unless a call is to come already. */
  after(delay_ms: number, call: () => void): void {
    if (this.#isClosed) return;
    this.#cancel ??= this.#clock.after(delay_ms, () => {
      this.#cancel = undefined;
      call();
    });
  }

  /** Makes no call any more. */
  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }
}
