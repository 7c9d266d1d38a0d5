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

/** Counts wrong tokens by network. */
export class WrongTokens {
  readonly #clock: Pick<Clock, "steady">;
  readonly #counts = new Map<string, { since_ms: number; count: number }>();

  constructor(clock: Pick<Clock, "steady">) {
    this.#clock = clock;
  }

  /** Looks a token up, unless its sender is refused, and counts a wrong one. */
  async look<T>(address: string, find: () => Promise<T | undefined>): Promise<Looked<T>> {
    const network = networkOf(address);
    const wait_s = this.#refusedFor_s(network);
    // Nothing tells clients apart whose address cannot be read: the wrong tokens of one refuse no right one.
    if (wait_s > 0 && isIP(address) !== 0) return { wait_s };
    const found = await find();
    if (found !== undefined) return { found, wait_s: 0 };
    this.#note(network);
    return { wait_s };
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
