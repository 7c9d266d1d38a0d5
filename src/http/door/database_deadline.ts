/**
 * The time that a sender waits for the database. A launch that takes longer is answered with 503, and one
 * whose sender has gone with nothing; neither is stored, or if it was sent to the database before, it is
 * withdrawn.
 *
 * @module
 */
import { UnavailableError } from "../../platform/errors.ts";
import type { Acceptance } from "../../runs/accept.ts";
import type { IncomingRequest } from "./incoming_request.ts";

/** The time in which a launch is stored. */
const TIMEOUT_MS = 10_000;
/**
 * The interval at which waiting requests are checked, and the least time after which a sender is looked
 * for. Most launches are stored before: a look at each takes a third of the throughput of Deno's server.
 */
const CHECK_MS = 500;

/** Made once, since many requests get it. */
const LATE = new UnavailableError("Cannot accept requests: the database does not answer", 5);

/** A request that waits. */
interface Waiting {
  readonly since_ms: number;
  /** Looks for the sender. */
  look?: (() => void) | undefined;
  /** Ends the wait without a result. */
  giveUp?: (() => void) | undefined;
}

/** Waits for the database, as long as senders do. */
export class DatabaseDeadline implements Disposable {
  readonly #timeout_ms: number;
  readonly #check_ms: number;
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiting>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor({ timeout_ms = TIMEOUT_MS, check_ms = CHECK_MS } = {}) {
    this.#timeout_ms = timeout_ms;
    this.#check_ms = check_ms;
  }

  /**
   * Waits for a read.
   *
   * @throws {UnavailableError} when it takes too long
   */
  read<T>(reading: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    reading.then(resolve, reject);
    return this.#wait(promise, {
      since_ms: performance.now(),
      giveUp: () => reject(LATE),
    });
  }

  /**
   * Accepts a launch. The request is in use until that has ended, also when it takes too long.
   *
   * @param accept gets a function that tells whether the sender waits no longer
   * @throws {UnavailableError} when it takes too long
   */
  accept(
    request: IncomingRequest,
    accept: (isAbandoned: () => boolean) => Promise<Acceptance>,
  ): Promise<Acceptance> {
    const { promise, resolve, reject } = Promise.withResolvers<Acceptance>();
    let isLate = false;
    let signal: AbortSignal | undefined;
    const accepting = accept(() => isLate || signal?.aborted === true);
    accepting.then(resolve, reject);
    return this.#wait(promise, {
      since_ms: performance.now(),
      look: () => signal = request.signal,
      giveUp() {
        isLate = true;
        request.inUse = accepting;
        reject(LATE);
      },
    });
  }

  async #wait<T>(result: Promise<T>, waiting: Waiting): Promise<T> {
    this.#waiting.add(waiting);
    this.#timer ??= setInterval(() => this.#check(), this.#check_ms);
    try {
      return await result;
    } finally {
      this.#waiting.delete(waiting);
      // A dropped table of the set may refer to it until the next full collection: not to the request, too.
      waiting.look = waiting.giveUp = undefined;
    }
  }

  #check(): void {
    const now_ms = performance.now();
    for (const waiting of this.#waiting) {
      const waited_ms = now_ms - waiting.since_ms;
      if (waited_ms < this.#check_ms) return;
      if (waited_ms >= this.#timeout_ms) waiting.giveUp?.();
      else waiting.look?.();
    }
    if (this.#waiting.size === 0) this[Symbol.dispose]();
  }

  /** Stops checking. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
