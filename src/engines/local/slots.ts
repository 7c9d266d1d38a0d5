/**
 * The places of executions that run at once. They are shared out among runners and projects first: of those that
 * wait, the next one is of those that have the fewest.
 *
 * @module
 */
import type { Execution } from "../../store/records/executions.ts";

/** The part of an execution that says with whom it shares. */
type Sharer = Pick<Execution, "engine" | "project">;

/** Returns the runner of an execution. */
export function runnerNameOf({ engine }: Pick<Execution, "engine">): string {
  return typeof engine.runner === "string" ? engine.runner : "process";
}

/** The places. */
export class Slots {
  readonly #max: number;
  /** The executions that have a place, each with whom it shares. */
  readonly #held = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** The number of free places. */
  get room(): number {
    return Math.max(0, this.#max - this.#held.size);
  }

  /** Returns the number of places that the runner and project of an execution have. */
  countOf(execution: Sharer): number {
    return this.#counts.get(keyOf(execution)) ?? 0;
  }

  /** Gives a place to an execution, also beyond the limit. */
  take(execution: Sharer & Pick<Execution, "id">): void {
    if (this.#held.has(execution.id)) return;
    const key = keyOf(execution);
    this.#held.set(execution.id, key);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  leave(executionId: string): void {
    const key = this.#held.get(executionId);
    if (key === undefined) return;
    this.#held.delete(executionId);
    const left = (this.#counts.get(key) ?? 1) - 1;
    if (left > 0) this.#counts.set(key, left);
    else this.#counts.delete(key);
  }
}

function keyOf(execution: Sharer): string {
  return `${runnerNameOf(execution)} ${execution.project}`;
}
