/**
 * A queue in which many owners take turns.
 *
 * @module
 */

/**
 * Holds items by owner. An owner has at most as many places as are left to all others: a greedy one alone has
 * half of them, two have a third each.
 */
export class FairQueue<Item> {
  readonly #places: number;
  /** Items by owner; the owner whose turn is next comes first. */
  readonly #waiting = new Map<string, Item[]>();
  readonly #resting = new Map<string, number>();
  #size = 0;

  constructor(places: number) {
    this.#places = places;
  }

  /** Adds an item; returns false when its owner has no place left. */
  add(owner: string, item: Item): boolean {
    const own = this.#waiting.get(owner) ?? [];
    if (own.length >= this.#places - this.#size) return false;
    this.#waiting.set(owner, [...own, item]);
    this.#size++;
    return true;
  }

  /** Skips an owner until a time, in milliseconds. */
  rest(owner: string, until_ms: number): void {
    this.#resting.set(owner, until_ms);
  }

  /**
   * Takes the oldest item of the owner whose turn it is, and who does not rest.
   *
   * @param now_ms the time, by the clock of {@linkcode rest}
   */
  take(now_ms: number): Item | undefined {
    for (const [owner, until_ms] of this.#resting) {
      if (until_ms <= now_ms) this.#resting.delete(owner);
    }
    for (const [owner, [item]] of this.#waiting) {
      if (item === undefined) break;
      if (this.#resting.has(owner)) continue;
      this.remove(owner, item);
      const rest = this.#waiting.get(owner);
      if (rest) {
        this.#waiting.delete(owner);
        this.#waiting.set(owner, rest);
      }
      return item;
    }
    return undefined;
  }

  /** The earliest time at which an owner with an item does not rest; undefined without items. */
  get restEnd_ms(): number | undefined {
    if (this.#waiting.size === 0) return undefined;
    return Math.min(...this.#waiting.keys().map((owner) => this.#resting.get(owner) ?? 0));
  }

  /** Removes an item that has not been taken. */
  remove(owner: string, item: Item): void {
    const own = this.#waiting.get(owner) ?? [];
    const rest = own.filter((other) => other !== item);
    this.#size -= own.length - rest.length;
    if (rest.length > 0) this.#waiting.set(owner, rest);
    else this.#waiting.delete(owner);
  }
}
