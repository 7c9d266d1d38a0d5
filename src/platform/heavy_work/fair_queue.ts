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

  /** Takes the oldest item of the owner whose turn it is. */
  take(): Item | undefined {
    for (const [owner, [item]] of this.#waiting) {
      if (item === undefined) break;
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

  /** Removes an item that has not been taken. */
  remove(owner: string, item: Item): void {
    const own = this.#waiting.get(owner) ?? [];
    const rest = own.filter((other) => other !== item);
    this.#size -= own.length - rest.length;
    if (rest.length > 0) this.#waiting.set(owner, rest);
    else this.#waiting.delete(owner);
  }
}
