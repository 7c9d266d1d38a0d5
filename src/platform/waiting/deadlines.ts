/**
 * Deadlines of many things that may all take the same time.
 *
 * @module
 */

/**
 * Calls back when something has taken too long. One timer serves all: a timer for each request would
 * cost more than reading its body does.
 */
export class Deadlines implements Disposable {
  /** How long things may take. */
  readonly time_ms: number;
  /** In the order in which they were set, which is the order in which they come. */
  readonly #set = new Set<
    { readonly at_ms: number; readonly onLate: (isHurried: boolean) => void }
  >();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(time_ms: number) {
    this.time_ms = time_ms;
  }

  /** How many deadlines are set. */
  get size(): number {
    return this.#set.size;
  }

  /**
   * Sets a deadline for something that begins now.
   *
   * @param onLate is told whether it is hurried, and not late
   * @returns takes the deadline back
   */
  begin(onLate: (isHurried: boolean) => void): () => void {
    const deadline = { at_ms: performance.now() + this.time_ms, onLate };
    this.#set.add(deadline);
    this.#timer ??= this.#wake(this.time_ms);
    return () => void this.#set.delete(deadline);
  }

  /** Calls back now for what has taken longest; false when nothing has taken so long. */
  hurry(after_ms: number): boolean {
    const [oldest] = this.#set;
    const began_ms = (oldest?.at_ms ?? Infinity) - this.time_ms;
    if (oldest === undefined || performance.now() - began_ms < after_ms) return false;
    this.#set.delete(oldest);
    oldest.onLate(true);
    return true;
  }

  /** Forgets every deadline. */
  [Symbol.dispose](): void {
    this.#set.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
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
        this.#set.delete(deadline);
        deadline.onLate(false);
      }
    }, after_ms);
  }
}
