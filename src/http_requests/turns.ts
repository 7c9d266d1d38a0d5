/**
 * Turns at sending: so many requests are under way at once, and no trigger has all of them.
 *
 * @module
 */

/** Places for work under way, of which one owner has a part at most. */
export class Turns {
  readonly #most: number;
  readonly #mostOfOne: number;
  readonly #underWay = new Map<string, number>();
  readonly #waiting: { owner: string; begin: () => void }[] = [];
  #count = 0;

  /**
   * @param most the work that is under way at once
   * @param mostOfOne that of one owner
   */
  constructor(most: number, mostOfOne: number) {
    this.#most = most;
    this.#mostOfOne = mostOfOne;
  }

  /** Resolves when it is the owner's turn, to what ends it. */
  take(owner: string): Promise<() => void> {
    return new Promise((resolve) => {
      const begin = () => {
        this.#add(owner, 1);
        resolve(() => {
          this.#add(owner, -1);
          this.#next();
        });
      };
      this.#waiting.push({ owner, begin });
      this.#next();
    });
  }

  #add(owner: string, change: 1 | -1): void {
    this.#count += change;
    const left = (this.#underWay.get(owner) ?? 0) + change;
    if (left === 0) this.#underWay.delete(owner);
    else this.#underWay.set(owner, left);
  }

  #next(): void {
    while (this.#count < this.#most) {
      const index = this.#waiting.findIndex(({ owner }) =>
        (this.#underWay.get(owner) ?? 0) < this.#mostOfOne
      );
      const [next] = index === -1 ? [] : this.#waiting.splice(index, 1);
      if (next === undefined) return;
      next.begin();
    }
  }
}
