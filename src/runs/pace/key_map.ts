/**
 * Values by the keys of triggers, which are counted by their triggers.
 *
 * @module
 */

/** Values by names of keys, as `nameOf` makes them. */
export class KeyMap<Value> extends Map<string, Value> {
  /** By the ids of triggers. */
  readonly #counts = new Map<string, number>();

  /** Number of the keys of a trigger. */
  countOf(triggerId: string): number {
    return this.#counts.get(triggerId) ?? 0;
  }

  /** The ids of the triggers with so many keys. */
  fullAt(limit: number): string[] {
    return idsFrom(this.#counts, limit);
  }

  override set(name: string, value: Value): this {
    if (!this.has(name)) this.#change(name, 1);
    return super.set(name, value);
  }

  override delete(name: string): boolean {
    const isDeleted = super.delete(name);
    if (isDeleted) this.#change(name, -1);
    return isDeleted;
  }

  #change(name: string, by: 1 | -1): void {
    const triggerId = name.slice(0, name.indexOf(" "));
    const count = this.countOf(triggerId) + by;
    if (count === 0) this.#counts.delete(triggerId);
    else this.#counts.set(triggerId, count);
  }
}

/** Returns the ids of triggers with at least so much. */
export function idsFrom(counts: ReadonlyMap<string, number>, least: number): string[] {
  return [...counts].flatMap(([id, count]) => count >= least ? [id] : []);
}
