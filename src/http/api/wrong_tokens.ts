/**
 * A limit on wrong tokens: a network that sends many is refused for a while without a look at its tokens, so
 * that a token that a person chose cannot be guessed.
 *
 * @module
 */
import { isIP } from "node:net";
import type { Clock } from "../../platform/clock.ts";
import { evictOldest } from "../../platform/evict_oldest.ts";
import { networkOf } from "../../platform/network/ip_ranges.ts";

/** Wrong tokens of one network in a minute, beyond which it is refused. */
export const WRONG_TOKENS_MAX = 30;
const WINDOW_MS = 60_000;
const NETWORKS_MAX = 10_000;

/** The outcome of looking a token up. */
interface Looked<T> {
  /** The value that the token opens; undefined where it is wrong, or was not looked up. */
  found?: T;
  /** The seconds for which its sender is refused; 0 when it is not. */
  wait_s: number;
}

/** The look-ups of one network: their number, and those that wait for the end of another one. */
interface Looking {
  count: number;
  waiting: (() => void)[];
}

/** Counts wrong tokens by network. */
export class WrongTokens {
  readonly #clock: Pick<Clock, "steady">;
  readonly #counts = new Map<string, { since_ms: number; count: number }>();
  readonly #looking = new Map<string, Looking>();

  constructor(clock: Pick<Clock, "steady">) {
    this.#clock = clock;
  }

  /**
   * Looks a token up, unless its sender is refused, and counts a wrong one. As many are looked up at once as may be
   * wrong: all that came at once could be guesses.
   */
  async look<T>(address: string, find: () => Promise<T | undefined>): Promise<Looked<T>> {
    const network = networkOf(address);
    // Nothing tells clients apart whose address cannot be read: the wrong tokens of one refuse no right one.
    const isKnown = isIP(address) !== 0;
    while (isKnown && this.#isFull(network)) await this.#turn(network);
    const wait_s = this.#refusedFor_s(network);
    if (wait_s > 0 && isKnown) return { wait_s };
    const looking = this.#looking.getOrInsertComputed(network, () => ({ count: 0, waiting: [] }));
    looking.count++;
    try {
      const found = await find();
      if (found !== undefined) return { found, wait_s: 0 };
      this.#note(network);
      return { wait_s };
    } finally {
      this.#end(network, looking);
    }
  }

  /** Tells whether the tokens that are being looked up could be all that may be wrong. */
  #isFull(network: string): boolean {
    const wrong = this.#current(network)?.count ?? 0;
    const looking = this.#looking.get(network)?.count ?? 0;
    return wrong < WRONG_TOKENS_MAX && wrong + looking >= WRONG_TOKENS_MAX;
  }

  /** Waits until the look-up of another token has ended. */
  #turn(network: string): Promise<void> {
    return new Promise((resolve) => this.#looking.get(network)?.waiting.push(resolve));
  }

  #end(network: string, looking: Looking): void {
    looking.count--;
    const isRefused = this.#refusedFor_s(network) > 0;
    for (const go of looking.waiting.splice(0, isRefused ? Infinity : 1)) go();
    if (looking.count === 0 && looking.waiting.length === 0) this.#looking.delete(network);
  }

  #note(network: string): void {
    const counted = this.#current(network) ?? { since_ms: this.#clock.steady(), count: 0 };
    counted.count++;
    this.#counts.delete(network);
    this.#counts.set(network, counted);
    evictOldest(this.#counts, NETWORKS_MAX);
  }

  #refusedFor_s(network: string): number {
    const counted = this.#current(network);
    if (counted === undefined || counted.count < WRONG_TOKENS_MAX) return 0;
    return Math.ceil((counted.since_ms + WINDOW_MS - this.#clock.steady()) / 1_000);
  }

  #current(network: string): { since_ms: number; count: number } | undefined {
    const counted = this.#counts.get(network);
    const isOver = counted !== undefined && this.#clock.steady() - counted.since_ms >= WINDOW_MS;
    return isOver ? undefined : counted;
  }
}
