/**
 * The places of those who wait for runs to end.
 *
 * @module
 */

/** How many places there are. */
const PLACES = 4_096;

/**
 * Gives places out. The senders of a trigger take at most as many as are left to all others: where they
 * take what they can get, half are left; where those of two triggers do, a third.
 */
export class Waits {
  readonly #byTrigger = new Map<string, number>();
  #taken = 0;

  /** Takes a place until that is disposed of; undefined where the trigger's senders have too many. */
  begin(triggerId: string): Disposable | undefined {
    const own = this.#byTrigger.get(triggerId) ?? 0;
    if (own >= PLACES - this.#taken) return undefined;
    this.#byTrigger.set(triggerId, own + 1);
    this.#taken++;
    return { [Symbol.dispose]: () => this.#end(triggerId) };
  }

  #end(triggerId: string): void {
    const others = (this.#byTrigger.get(triggerId) ?? 0) - 1;
    if (others > 0) this.#byTrigger.set(triggerId, others);
    else this.#byTrigger.delete(triggerId);
    this.#taken--;
  }
}
