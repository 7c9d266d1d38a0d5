/**
 * A limit on wrong tokens: an address that sends many is refused for a while without a look at its token, so
 * that a token that a person chose cannot be guessed.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import { evictOldest } from "../../platform/evict_oldest.ts";

/** Wrong tokens of one address in a minute, beyond which it is refused. */
export const WRONG_TOKENS_MAX = 30;
const WINDOW_MS = 60_000;
const ADDRESSES_MAX = 10_000;

/** Counts wrong tokens by address. */
export class WrongTokens {
  readonly #clock: Pick<Clock, "steady">;
  readonly #counts = new Map<string, { since_ms: number; count: number }>();

  constructor(clock: Pick<Clock, "steady">) {
    this.#clock = clock;
  }

  /** Counts a wrong token. */
  note(address: string): void {
    const counted = this.#current(address) ?? { since_ms: this.#clock.steady(), count: 0 };
    counted.count++;
    this.#counts.delete(address);
    this.#counts.set(address, counted);
    evictOldest(this.#counts, ADDRESSES_MAX);
  }

  /** Returns the seconds for which an address is refused; 0 when it is not. */
  refusedFor_s(address: string): number {
    const counted = this.#current(address);
    if (counted === undefined || counted.count < WRONG_TOKENS_MAX) return 0;
    return Math.ceil((counted.since_ms + WINDOW_MS - this.#clock.steady()) / 1_000);
  }

  #current(address: string): { since_ms: number; count: number } | undefined {
    const counted = this.#counts.get(address);
    const isOver = counted !== undefined && this.#clock.steady() - counted.since_ms >= WINDOW_MS;
    return isOver ? undefined : counted;
  }
}
