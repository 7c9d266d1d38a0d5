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

  /**
   * Takes one out: the oldest of those with the lowest rank.
   *
   * @param rankOf returns 0 or more
   */
  take(rankOf: (execution: Execution) => number = () => 0): Execution | undefined {
    let best = 0;
    let lowest = Infinity;
    for (const [at, execution] of this.#held.entries()) {
      const rank = rankOf(execution);
      if (rank < lowest) [best, lowest] = [at, rank];
      if (rank === 0) break;
    }
    return this.#held.splice(best, 1)[0];
  }

  /** Takes out those that are not to start for now. They wait in the database. */
  drop(isDropped: (execution: Execution) => boolean): void {
    const kept = this.#held.filter((execution) => !isDropped(execution));
    this.#held.splice(0, this.#held.length, ...kept);
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

/** Reads the first of some executions, at most so many. Those that are not wanted when all are read are left out. */
export async function oldestOf(
  all: AsyncIterable<Execution>,
  { max, isWanted }: { max: number; isWanted(execution: Execution): boolean },
): Promise<{ executions: Execution[]; isAll: boolean }> {
  const executions: Execution[] = [];
  let isAll = true;
  for await (const execution of all) {
    if (!isWanted(execution)) continue;
    isAll = executions.length < max;
    if (!isAll) break;
    executions.push(execution);
  }
  return { executions: executions.filter(isWanted), isAll };
}
