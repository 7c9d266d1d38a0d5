/**
 * The runs that wait for their turn.
 *
 * @module
 */
import type { Item } from "./item.ts";

/** The runs that wait. */
export class WaitingRuns {
  readonly #items = new Map<string, Item>();
  /** Their ids, by their triggers. */
  readonly #ofTrigger = new Map<string, Set<string>>();

  get size(): number {
    return this.#items.size;
  }

  /** Number of a trigger's runs. */
  countOf(triggerId: string): number {
    return this.#ofTrigger.get(triggerId)?.size ?? 0;
  }

  has(id: string): boolean {
    return this.#items.has(id);
  }

  get(id: string): Item | undefined {
    return this.#items.get(id);
  }

  /** Adds a run, which is not among them. */
  add(item: Item): void {
    this.#items.set(item.id, item);
    const ofTrigger = this.#ofTrigger.get(item.triggerId) ?? new Set();
    this.#ofTrigger.set(item.triggerId, ofTrigger.add(item.id));
  }

  /** Takes a run off, if it is among them. */
  delete({ id, triggerId }: Item): void {
    this.#items.delete(id);
    const ofTrigger = this.#ofTrigger.get(triggerId);
    ofTrigger?.delete(id);
    if (ofTrigger?.size === 0) this.#ofTrigger.delete(triggerId);
  }

  /** The ids of a trigger's runs. */
  idsOf(triggerId: string): string[] {
    return [...this.#ofTrigger.get(triggerId) ?? []];
  }
}
