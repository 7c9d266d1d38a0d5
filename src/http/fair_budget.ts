/**
 * An amount that many owners share, so that none can take all of it.
 *
 * @module
 */

/** A part of an amount. */
export interface Share extends Disposable {
  /** Changes its size; returns false, and changes nothing, when that much is not free. */
  resize(amount: number): boolean;
}

/**
 * Shares an amount. An owner gets at most as much as is free for all others: one that takes all it can
 * get leaves half, and two leave a third.
 */
export class FairBudget {
  readonly #max: number;
  readonly #byOwner = new Map<string, number>();
  #taken = 0;
  #release: PromiseWithResolvers<void> | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Takes an amount until it is disposed of; undefined when that much is not free, or an owner would have
   * too much.
   *
   * @param owners the names of those that it counts for; without any, only the whole is limited
   */
  take(amount: number, owners: readonly string[] = []): Share | undefined {
    let own = 0;
    const resize = (amount: number) => {
      const free = this.#max - this.#taken + own;
      const isTooMuch = (owner: string) => (this.#byOwner.get(owner) ?? 0) - own + amount > free;
      if (amount > own && (amount > free || owners.some(isTooMuch))) return false;
      this.#add(amount - own, owners);
      own = amount;
      return true;
    };
    return resize(amount) ? { resize, [Symbol.dispose]: () => void resize(0) } : undefined;
  }

  /** Resolves when a part of the amount is given back. */
  get released(): Promise<void> {
    return (this.#release ??= Promise.withResolvers()).promise;
  }

  #add(amount: number, owners: readonly string[]): void {
    this.#taken += amount;
    for (const owner of owners) {
      const own = (this.#byOwner.get(owner) ?? 0) + amount;
      if (own === 0) this.#byOwner.delete(owner);
      else this.#byOwner.set(owner, own);
    }
    if (amount >= 0) return;
    this.#release?.resolve();
    this.#release = undefined;
  }
}
