/**
 * The executions that this machine runs, their places, and those that it must not start again.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../platform/errors.ts";
import { evictOldest } from "../../platform/evict_oldest.ts";
import type { Execution } from "../../store/records/executions.ts";
import { inTrace } from "../../telemetry/spans.ts";
import type { ExecutionRun } from "./execution_run.ts";
import type { RunEvents } from "./run_factory.ts";
import { Slots } from "./slots.ts";

/** The number of executions that are remembered, so that they do not start a second time. */
const TAKEN_MAX = 10_000;

const log = getLogger(["hooklaunch", "engine"]);

/** An execution that this machine runs. */
interface Running {
  run: Promise<ExecutionRun>;
  /** Resolves when it has ended, or is let go. */
  over: Promise<void>;
}

/** The parts of {@linkcode RunningExecutions}. */
interface RunningParts {
  /** The most executions whose commands run at once. */
  max: number;
  newRun(execution: Execution, events: RunEvents): Promise<ExecutionRun>;
  /** Called when a run is over, and does what is left to do. */
  onOver(run: ExecutionRun, executionId: string): Promise<void>;
  /** Called when there is a place. */
  onRoom(): void;
}

/** The executions that this machine runs. */
export class RunningExecutions {
  readonly #parts: RunningParts;
  readonly #all = new Map<string, Running>();
  /** Those whose commands run or are about to, but for those whose runner cannot be asked. */
  readonly #slots: Slots;
  readonly #taken = new Set<string>();

  constructor(parts: RunningParts) {
    this.#parts = parts;
    this.#slots = new Slots(parts.max);
  }

  get size(): number {
    return this.#all.size;
  }

  get ids(): string[] {
    return [...this.#all.keys()];
  }

  get all(): Running[] {
    return [...this.#all.values()];
  }

  get(executionId: string): Running | undefined {
    return this.#all.get(executionId);
  }

  /** The number of free places. */
  get room(): number {
    return this.#slots.room;
  }

  /** Returns the number of places that the runner and project of an execution have. */
  countOf(execution: Execution): number {
    return this.#slots.countOf(execution);
  }

  /** True for an execution that must not start again. */
  hasTaken(executionId: string): boolean {
    return this.#taken.has(executionId);
  }

  /** Remembers that an execution must not start again. */
  take(executionId: string): void {
    this.#taken.add(executionId);
    evictOldest(this.#taken, TAKEN_MAX);
  }

  /** Begins with an execution, also beyond the places. */
  begin(execution: Execution, work: (run: ExecutionRun) => Promise<void>): void {
    const { id, traceparent } = execution;
    const { newRun, onOver } = this.#parts;
    this.take(id);
    this.#slots.take(execution);
    const run = newRun(execution, {
      // The next execution does not wait until the end of this one is stored.
      onCommandOver: () => this.#leave(id),
      onOutage: (isOut) => isOut ? this.#leave(id) : this.#slots.take(execution),
    });
    const over = inTrace(traceparent, async () => {
      await work(await run);
      await onOver(await run, id);
    }).catch((error) =>
      log.error("Cannot run execution {execution_id}: {error}", {
        execution_id: id,
        error: messageOf(error),
      })
    ).finally(() => {
      this.#all.delete(id);
      this.#leave(id);
    });
    this.#all.set(id, { run, over });
  }

  #leave(executionId: string): void {
    this.#slots.leave(executionId);
    this.#parts.onRoom();
  }
}
