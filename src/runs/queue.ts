/**
 * A queue that stays fast when it is long.
 *
 * @module
 */

/** Gives back first what was put in first. Taking from the front of a long array would move all of it. */
export class Queue<T> {
  #items: T[] = [];
  /** How many of the items were taken. */
  #taken = 0;

  /** How many items are in it. */
  get length(): number {
    return this.#items.length - this.#taken;
  }

  /** Puts an item at the end. */
  push(item: T): void {
    this.#items.push(item);
  }

  /** Takes the first item; undefined when there is none. */
  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#taken++];
    // By the time the taken ones are half of all, each of them has paid for moving one other.
    if (this.#taken * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#taken);
      this.#taken = 0;
    }
    return item;
  }
}
