/**
 * The runs that wait for their turn.
 *
 * @module
 */
import type { PendingRun } from "../../store/records/runs.ts";
import { Item } from "./item.ts";
import { idsFrom } from "./key_map.ts";
import { KnownPaces } from "./known_paces.ts";

/** The runs that wait. */
export class WaitingRuns {
  readonly #items = new Map<string, Item>();
  readonly #paces = new KnownPaces();
  /** Numbers of runs, by the ids of their triggers. */
  readonly #counts = new Map<string, number>();

  get size(): number {
    return this.#items.size;
  }

  /** Number of a trigger's runs. */
  countOf(triggerId: string): number {
    return this.#counts.get(triggerId) ?? 0;
  }

  /** The ids of the triggers with so many runs. */
  fullAt(limit: number): string[] {
    return idsFrom(this.#counts, limit);
  }

  has(id: string): boolean {
    return this.#items.has(id);
  }

  get(id: string): Item | undefined {
    return this.#items.get(id);
  }

  /**
   * Adds a run, which is not among them.
   *
   * @param order its place in the order of acceptance
   */
  add(record: PendingRun, order: number): Item {
    const { run: { trigger_id }, pace = {} } = record;
    const item = new Item(record, order, this.#paces.take(trigger_id, pace));
    this.#items.set(item.id, item);
    this.#counts.set(item.triggerId, this.countOf(item.triggerId) + 1);
    return item;
  }

  /** Takes a run off, if it is among them. */
  delete(item: Item): void {
    if (!this.#items.delete(item.id)) return;
    this.#paces.leave(item.known);
    const count = this.countOf(item.triggerId) - 1;
    if (count === 0) this.#counts.delete(item.triggerId);
    else this.#counts.set(item.triggerId, count);
  }

  /** The ids of a trigger's runs. */
  idsOf(triggerId: string): string[] {
    if (!this.#counts.has(triggerId)) return [];
    const ids: string[] = [];
    for (const item of this.#items.values()) if (item.triggerId === triggerId) ids.push(item.id);
    return ids;
  }
}
