/**
 * The limits of diagnoses. Each one tries a trigger's secrets in many ways, which takes time, and must not become a
 * way to try many requests.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import { evictOldest } from "../../platform/evict_oldest.ts";

/** The diagnoses of one token in a minute. */
const DIAGNOSES_PER_MINUTE = 10;
const MINUTE_MS = 60_000;
const TOKENS_MAX = 1_000;

/** Counts diagnoses by token, and lets one at a time look at a trigger. */
export class DiagnosisLimits {
  readonly #clock: Pick<Clock, "steady">;
  readonly #starts = new Map<string, number[]>();
  readonly #triggers = new Set<string>();

  constructor(clock: Pick<Clock, "steady">) {
    this.#clock = clock;
  }

  /**
   * Begins a diagnosis, which ends when the result is disposed of.
   *
   * @param token the name of the operator's token
   * @returns the seconds to wait where there is no room for it
   */
  begin(token: string, triggerId: string): Disposable | { wait_s: number } {
    const now_ms = this.#clock.steady();
    const recent = (this.#starts.get(token) ?? []).filter((start) => now_ms - start < MINUTE_MS);
    const [first = now_ms] = recent;
    if (recent.length >= DIAGNOSES_PER_MINUTE) {
      return { wait_s: Math.ceil((first + MINUTE_MS - now_ms) / 1_000) };
    }
    if (this.#triggers.has(triggerId)) return { wait_s: 1 };
    this.#starts.delete(token);
    this.#starts.set(token, [...recent, now_ms]);
    evictOldest(this.#starts, TOKENS_MAX);
    this.#triggers.add(triggerId);
    return { [Symbol.dispose]: () => void this.#triggers.delete(triggerId) };
  }
}
