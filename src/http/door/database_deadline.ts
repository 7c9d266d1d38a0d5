/**
 * The time that a sender waits for the database. A launch that takes longer is answered with 503, and one
 * whose sender has gone with nothing; neither is stored, or if it was sent to the database before, it is
 * withdrawn.
 *
 * @module
 */
import { UnavailableError } from "../../platform/errors.ts";
import { Deadlines } from "../../platform/waiting/deadlines.ts";
import type { Acceptance } from "../../runs/accept.ts";
import type { ArrivedRequest } from "./launch_request.ts";

/** The time in which a launch is stored. */
const TIMEOUT_MS = 10_000;
/**
 * The time after which the sender is looked for. Most launches are stored before: a look at each takes a
 * third of the throughput of Deno's server.
 */
const LOOK_MS = 500;

/** Made once, since many requests get it. */
const LATE = new UnavailableError("Cannot accept requests: the database does not answer", 5);

/** Waits for the database, as long as senders do. */
export class DatabaseDeadline implements Disposable {
  readonly #ends: Deadlines;
  readonly #looks: Deadlines;

  constructor({ timeout_ms = TIMEOUT_MS, look_ms = LOOK_MS } = {}) {
    this.#ends = new Deadlines(timeout_ms);
    this.#looks = new Deadlines(look_ms);
  }

  /**
   * Waits for a read.
   *
   * @throws {UnavailableError} when it takes too long
   */
  async read<T>(reading: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    reading.then(resolve, reject);
    const done = this.#ends.begin(() => reject(LATE));
    return await promise.finally(done);
  }

  /**
   * Accepts a launch. The request is in use until that has ended, also when it takes too long.
   *
   * @param accept gets a function that tells whether the sender waits no longer
   * @throws {UnavailableError} when it takes too long
   */
  async accept(
    request: ArrivedRequest,
    accept: (isAbandoned: () => boolean) => Promise<Acceptance>,
  ): Promise<Acceptance> {
    const { promise, resolve, reject } = Promise.withResolvers<Acceptance>();
    let isLate = false;
    let signal: AbortSignal | undefined;
    const accepting = accept(() => isLate || signal?.aborted === true);
    accepting.then(resolve, reject);
    const looked = this.#looks.begin(() => signal = request.signal);
    const ended = this.#ends.begin(() => {
      isLate = true;
      request.inUse = accepting;
      reject(LATE);
    });
    try {
      return await promise;
    } finally {
      looked();
      ended();
    }
  }

  /** Forgets the requests that wait. */
  [Symbol.dispose](): void {
    this.#ends[Symbol.dispose]();
    this.#looks[Symbol.dispose]();
  }
}
