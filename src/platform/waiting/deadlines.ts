/**
 * Deadlines of many things that have the same time to finish.
 *
 * @module
 */

/** A deadline that is set. */
interface Deadline {
  readonly at_ms: number;
  /** Absent once the deadline is removed. */
  onLate?: ((isHurried: boolean) => void) | undefined;
}

/**
 * A set of deadlines. One timer serves all of them: a timer for each request would cost more than
 * reading its body.
 */
export class Deadlines implements Disposable {
  /** The time that each thing has. */
  readonly time_ms: number;
  /** In the order in which they were set, which is the order in which they pass. */
  readonly #set = new Set<Deadline>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(time_ms: number) {
    this.time_ms = time_ms;
  }

  /** The number of deadlines that are set. */
  get size(): number {
    return this.#set.size;
  }

  /**
   * Sets a deadline for something that begins now.
   *
   * @param onLate called when the deadline passes; its argument is true if {@linkcode hurry}
   *   brought it forward
   * @returns removes the deadline
   */
  begin(onLate: (isHurried: boolean) => void): () => void {
    const deadline: Deadline = { at_ms: performance.now() + this.time_ms, onLate };
    this.#set.add(deadline);
    this.#timer ??= this.#wake(this.time_ms);
    return () => this.#remove(deadline);
  }

  /** Lets the oldest deadline pass now; returns false if none was set at least `after_ms` ago. */
  hurry(after_ms: number): boolean {
    const [oldest] = this.#set;
    const began_ms = (oldest?.at_ms ?? Infinity) - this.time_ms;
    if (oldest === undefined || performance.now() - began_ms < after_ms) return false;
    const { onLate } = oldest;
    this.#remove(oldest);
    onLate?.(true);
    return true;
  }

  /** Removes every deadline. */
  [Symbol.dispose](): void {
    this.#set.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #remove(deadline: Deadline): void {
    this.#set.delete(deadline);
    // V8 drops the table of a set when that grows or shrinks, and what the dropped one refers to stays in
    // memory until the next full collection. With the callback gone that is not the whole request.
    deadline.onLate = undefined;
  }

  #wake(after_ms: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.#timer = undefined;
      const now_ms = performance.now();
      for (const deadline of this.#set) {
        if (deadline.at_ms > now_ms) {
          this.#timer = this.#wake(deadline.at_ms - now_ms);
          return;
        }
        const { onLate } = deadline;
        this.#remove(deadline);
        onLate?.(false);
      }
    }, after_ms);
  }
}
