/**
 * The requests that a service answers now. A service that stops turns new ones away, on the same port and until its
 * end, while those under way are answered.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { unavailable } from "./problem.ts";

/** The time that the next process takes to start. */
const START_S = 2;

/** Counts requests, and turns new ones away once it is told to. */
export class RequestsUnderWay {
  readonly #clock: Pick<Clock, "steady">;
  #count = 0;
  #turnsAway = false;
  #ends_ms = 0;
  readonly #idle = Promise.withResolvers<void>();

  constructor(clock: Pick<Clock, "steady">) {
    this.#clock = clock;
  }

  /** The seconds after which another process is likely to serve, once this one ends. */
  get retryAfter_s(): number {
    return Math.max(0, Math.ceil((this.#ends_ms - this.#clock.steady()) / 1_000)) + START_S;
  }

  /** Says by when the service ends, by the steady clock. */
  endBy(time_ms: number): void {
    this.#ends_ms = time_ms;
  }

  /** The answer to a request that comes too late; undefined while requests are taken. */
  get refusal(): Response | undefined {
    if (!this.#turnsAway) return undefined;
    const answer = unavailable(this.retryAfter_s);
    // The next request is for the next process.
    answer.headers.set("connection", "close");
    return answer;
  }

  /** Counts something as under way until it settles. */
  add(work: unknown): void {
    if (!(work instanceof Promise)) return;
    this.#count++;
    work.then(this.#end, this.#end);
  }

  /** Turns new requests away from now on. Resolves when none is under way. */
  turnAway(): Promise<void> {
    this.#turnsAway = true;
    if (this.#count === 0) this.#idle.resolve();
    return this.#idle.promise;
  }

  readonly #end = () => {
    this.#count--;
    if (this.#turnsAway && this.#count === 0) this.#idle.resolve();
  };
}
