/**
 * How much the bodies of requests may hold while they are read as values.
 *
 * @module
 */

/**
 * How many values the bodies of all requests under way may hold together, where they are parsed: each
 * takes some 60 bytes, whatever it takes of the body.
 */
const VALUES_MAX = 2_000_000;

/** Counts the values of parsed bodies. */
export class ParsedValues {
  #held = 0;

  /** Takes room for so many values; false where there is none. One body has room in any case. */
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
