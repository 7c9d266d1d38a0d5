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
  /** Their ids, by their triggers. */
  readonly #ofTrigger = new Map<string, Set<string>>();

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
    const count = this.#ofTrigger.get(triggerId)?.size ?? 0;
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
