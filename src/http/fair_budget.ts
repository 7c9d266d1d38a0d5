/**
 * An amount that many owners share, so that none can take all of it.
 *
 * @module
 */

/**
 * Shares an amount. An owner gets at most as much as is free for all others: one that takes all it can
 * get leaves half, and two leave a third.
 */
export class FairBudget {
  readonly #max: number;
  readonly #byOwner = new Map<string, number>();
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Takes an amount until it is disposed of; undefined when that much is not free, or an owner would have
   * too much.
   *
   * @param owners the names of those that it counts for; without any, only the whole is limited
   */
  take(amount: number, owners: readonly string[] = []): Disposable | undefined {
    const free = this.#max - this.#taken;
    if (amount > free) return undefined;
    if (owners.some((owner) => (this.#byOwner.get(owner) ?? 0) + amount > free)) return undefined;
    this.#add(amount, owners);
    let isTaken = true;
    return {
      [Symbol.dispose]: () => {
        if (isTaken) this.#add(-amount, owners);
        isTaken = false;
      },
    };
  }

  #add(amount: number, owners: readonly string[]): void {
    this.#taken += amount;
    for (const owner of owners) {
      const own = (this.#byOwner.get(owner) ?? 0) + amount;
      if (own === 0) this.#byOwner.delete(owner);
      else this.#byOwner.set(owner, own);
    }
  }
}
