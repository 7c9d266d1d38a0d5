/**
 * Executions that wait for room, oldest first. Only the oldest are held in memory; that there are more
 * is remembered, and they are read from the database when there is room.
 *
 * @module
 */
import type { Execution } from "../../store/records/executions.ts";

/** The oldest of the executions that wait. */
export class ExecutionQueue {
  readonly #max: number;
  /** Sorted by id, which is by age. */
  readonly #held: Execution[] = [];
  #hasMore = false;
  /** Number of executions that were left to the database. */
  #left = 0;

  /** @param max how many are held in memory */
  constructor(max: number) {
    this.#max = max;
  }

  /** Number of executions in memory. */
  get size(): number {
    return this.#held.length;
  }

  /** True when few are in memory and others are to be read from the database. */
  get wantsMore(): boolean {
    return this.#hasMore && this.#held.length <= this.#max / 4;
  }

  /** Returns true when an execution of this id is in memory. */
  has(id: string): boolean {
    const at = this.#placeOf(id);
    return this.#held[at]?.id === id;
  }

  /** Adds one, in its place by age. What does not fit is left to the database. */
  add(execution: Execution): void {
    const at = this.#placeOf(execution.id);
    if (this.#held[at]?.id === execution.id) return;
    // Behind the last of those held there may be older ones in the database.
    if (at === this.#held.length && (this.#hasMore || at >= this.#max)) {
      this.#leave();
      return;
    }
    this.#held.splice(at, 0, execution);
    if (this.#held.length > this.#max) {
      this.#held.pop();
      this.#leave();
    }
  }

  /**
   * Adds the oldest of those that wait in the database.
   *
   * @param read reads them, and says whether those are all
   */
  async refill(read: () => Promise<{ executions: Execution[]; isAll: boolean }>): Promise<void> {
    const leftBefore = this.#left;
    const { executions, isAll } = await read();
    // One that was left to the database meanwhile may not have been seen there.
    const hasMore = !isAll || this.#left !== leftBefore;
    this.#hasMore = false;
    for (const execution of executions) this.add(execution);
    this.#hasMore ||= hasMore;
  }

  /** Takes the oldest out. */
  take(): Execution | undefined {
    return this.#held.shift();
  }

  /** Takes one out by its id. */
  remove(id: string): Execution | undefined {
    return this.has(id) ? this.#held.splice(this.#placeOf(id), 1)[0] : undefined;
  }

  #leave(): void {
    this.#hasMore = true;
    this.#left++;
  }

  /** The place of the first whose id is not less. */
  #placeOf(id: string): number {
    let low = 0;
    let high = this.#held.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#held[middle]?.id ?? "") < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
