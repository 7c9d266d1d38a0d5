/**
 * The runs that wait for their turn, and how many may.
 *
 * @module
 */
import { UnavailableError } from "../../platform/errors.ts";
import type { Item } from "./item.ts";

/** The most runs that wait. */
const WAITING_MAX = 200_000;
/** The most of one trigger. */
const OF_TRIGGER_MAX = 100_000;
const RETRY_S = 60;

const TOO_MANY = new UnavailableError(
  "Cannot accept a launch: too many runs wait for their turn",
  RETRY_S,
);
const TOO_MANY_OF_TRIGGER = new UnavailableError(
  `Cannot accept a launch: ${OF_TRIGGER_MAX} runs of its trigger wait for their turn`,
  RETRY_S,
);

/** The runs that wait. */
export class WaitingRuns {
  readonly #items = new Map<string, Item>();
  /** Their numbers, by their triggers. */
  readonly #counts = new Map<string, number>();

  get size(): number {
    return this.#items.size;
  }

  /** True when no more runs may wait. */
  get isFull(): boolean {
    return this.#items.size >= WAITING_MAX;
  }

  /** Returns why no more runs of a trigger may wait; undefined where they may. */
  obstacle(triggerId: string): UnavailableError | undefined {
    if (this.isFull) return TOO_MANY;
    const count = this.#counts.get(triggerId) ?? 0;
    return count >= OF_TRIGGER_MAX ? TOO_MANY_OF_TRIGGER : undefined;
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
    this.#count(item, 1);
  }

  /** Takes a run off, if it is among them. */
  delete(item: Item): void {
    if (this.#items.delete(item.id)) this.#count(item, -1);
  }

  /** The ids of a trigger's runs. */
  idsOf(triggerId: string): string[] {
    if (!this.#counts.has(triggerId)) return [];
    return [...this.#items.values()].filter((item) => item.triggerId === triggerId)
      .map(({ id }) => id);
  }

  #count({ triggerId }: Item, more: 1 | -1): void {
    const count = (this.#counts.get(triggerId) ?? 0) + more;
    if (count === 0) this.#counts.delete(triggerId);
    else this.#counts.set(triggerId, count);
  }
}
