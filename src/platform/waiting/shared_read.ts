/**
 * A read that may never be answered, as of a remote database that is away, and that many ask for.
 *
 * @module
 */
import type { Clock } from "../clock.ts";

/** The time after which a read that is not answered is begun again: its connection may have broken without a word. */
const AGAIN_MS = 10_000;

/** A read that those who ask share while it is under way. */
export class SharedRead<T> {
  readonly #read: () => Promise<T>;
  readonly #clock: Pick<Clock, "steady">;
  #reading: Promise<T> | undefined;
  #begun_ms = 0;
  #again_ms = AGAIN_MS;

  constructor(read: () => Promise<T>, clock: Pick<Clock, "steady">) {
    this.#read = read;
    this.#clock = clock;
  }

  /** Returns the read that is under way, or begins it. Each that is not answered has twice the time of the one before. */
  run(): Promise<T> {
    const now_ms = this.#clock.steady();
    const known = this.#reading;
    if (known !== undefined && now_ms - this.#begun_ms < this.#again_ms) return known;
    this.#again_ms = known === undefined ? AGAIN_MS : 2 * this.#again_ms;
    this.#begun_ms = now_ms;
    const reading = this.#read().finally(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    return this.#reading = reading;
  }
}
