/**
 * The limit of the values that parsed bodies hold.
 *
 * @module
 */

/** The values that the parsed bodies of all requests under way may hold. Each takes some 60 bytes of memory. */
const VALUES_MAX = 2_000_000;

/** Counts the values of parsed bodies. */
export class ParsedValueBudget {
  #held = 0;

  /** Takes room for a number of values; false where there is none. A single body always has room. */
  take(values: number): boolean {
    if (this.#held > 0 && this.#held + values > VALUES_MAX) return false;
    this.#held += values;
    return true;
  }

  /** Gives room back. */
  giveBack(values: number): void {
    this.#held -= values;
  }
}
