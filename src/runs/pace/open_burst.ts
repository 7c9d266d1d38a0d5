/**
 * The runs of a key that become one, while more may join them.
 *
 * @module
 */
import type { Burst } from "../../store/records/held_runs.ts";
import type { CoalescePace } from "../../store/records/pace.ts";
import type { Item } from "./item.ts";
import { mayBeJoined } from "./joined_run.ts";

/** An open burst, and its runs: one, unless all payloads become one. */
export class OpenBurst implements Burst {
  readonly trigger_id: string;
  readonly key: string;
  readonly first_ms: number;
  run_id: string;
  due_ms: number;
  /** In the order of acceptance. */
  readonly #items: Item[] = [];
  #bytes = 0;

  constructor({ trigger_id, key, run_id, first_ms, due_ms }: Burst) {
    this.trigger_id = trigger_id;
    this.key = key;
    this.first_ms = first_ms;
    this.run_id = run_id;
    this.due_ms = due_ms;
  }

  /** Its runs, in the order of acceptance. */
  get items(): Item[] {
    return [...this.#items];
  }

  /** The setting that its runs were accepted with; undefined where it has none. */
  get keep(): CoalescePace["keep"] | undefined {
    return this.#items[0]?.pace.coalesce?.keep;
  }

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  has(item: Item): boolean {
    return this.#items.includes(item);
  }

  /** Tells whether the payload of one more run has room beside the others, where all become one. */
  hasRoomFor({ size }: Item): boolean {
    return mayBeJoined(this.#items.length + 1, this.#bytes + size);
  }

  add(item: Item): void {
    this.#items.push(item);
    this.#bytes += item.size;
  }

  /** Takes a run off, which is among them. */
  remove(item: Item): void {
    this.#items.splice(this.#items.indexOf(item), 1);
    this.#bytes -= item.size;
  }
}
