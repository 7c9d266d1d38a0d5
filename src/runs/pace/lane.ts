/**
 * The runs of one concurrency key: those with work under way, and those that wait.
 *
 * @module
 */

/** A run that may wait in a lane. */
interface Waiting {
  readonly id: string;
  /** Its place in the order of acceptance. */
  readonly order: number;
}

/** A lane. */
export class Lane<Item extends Waiting> {
  readonly #working = new Set<string>();
  /** In the order of acceptance. */
  readonly #waiting: Item[] = [];

  /** True when nothing of it is under way or waits. */
  get isEmpty(): boolean {
    return this.#working.size === 0 && this.#waiting.length === 0;
  }

  /** The runs with work under way. */
  get working(): readonly string[] {
    return [...this.#working];
  }

  /** Number of runs that wait. */
  get length(): number {
    return this.#waiting.length;
  }

  /** The run that is next. */
  get next(): Item | undefined {
    return this.#waiting[0];
  }

  /** Tells whether a run finds a place at once. */
  hasPlace(limit: number): boolean {
    return this.#working.size < limit && this.#waiting.length === 0;
  }

  /** Gives a run's work a place. */
  enter(runId: string): void {
    this.#working.add(runId);
  }

  /** Frees the place of a run's work. */
  leave(runId: string): void {
    this.#working.delete(runId);
  }

  /** Lets a run wait. */
  add(item: Item): void {
    const behind = this.#waiting.findLastIndex(({ order }) => order < item.order);
    this.#waiting.splice(behind + 1, 0, item);
  }

  /** Takes off a run that waits. */
  remove(item: Item): void {
    const index = this.#waiting.indexOf(item);
    if (index >= 0) this.#waiting.splice(index, 1);
  }

  /** The place of a run among those that wait, from 1. */
  placeOf(item: Item): number {
    return this.#waiting.indexOf(item) + 1;
  }

  /** Takes off all runs that wait. */
  takeWaiting(): Item[] {
    return this.#waiting.splice(0);
  }
}
