/**
 * An execution whose runner cannot be asked: its record shows so, it holds no place, and its stop gives up after the
 * grace period.
 *
 * @module
 */
import type { Execution } from "../../store/records/executions.ts";
import type { Ending } from "../shared/execution_end.ts";
import type { RunContext } from "./run_context.ts";

/** The end of a reason. What is left is removed when the runner answers. */
const GIVEN_UP = "Its runner cannot be asked: what still runs there ends when it can";

export class RunnerOutage implements Disposable {
  readonly #execution: Execution;
  readonly #context: Pick<RunContext, "save" | "settings" | "onOutage">;
  readonly #givingUp = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopping = false;
  #isOut = false;

  constructor(execution: Execution, context: Pick<RunContext, "save" | "settings" | "onOutage">) {
    this.#execution = execution;
    this.#context = context;
  }

  /** Aborted when the stop gives up. */
  get signal(): AbortSignal {
    return this.#givingUp.signal;
  }

  /** Takes in that the runner does not answer, with the reason, or that it does again. */
  async show(reason?: string): Promise<void> {
    const execution = this.#execution;
    this.#isOut = reason !== undefined;
    if (this.#isOut) this.#giveUpInTime();
    else clearTimeout(this.#timer);
    this.#context.onOutage?.(this.#isOut);
    // One of an earlier service may show it still.
    if (execution.waiting === reason && (execution.reachable === false) === this.#isOut) return;
    delete execution.waiting;
    delete execution.reachable;
    if (reason !== undefined) Object.assign(execution, { waiting: reason, reachable: false });
    await this.#context.save(execution);
  }

  /** Takes in that the execution is asked to stop. */
  stopping(): void {
    this.#isStopping = true;
    if (this.#isOut) this.#giveUpInTime();
  }

  /** Returns the end of an execution: one whose stop has given up says so. */
  endingOf(ending: Ending): Ending {
    if (!this.signal.aborted) return ending;
    return { ...ending, reason: `${ending.reason ?? "Stopped"}. ${GIVEN_UP}` };
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #giveUpInTime(): void {
    if (!this.#isStopping || this.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#givingUp.abort(), this.#context.settings.grace_ms);
  }
}
