/**
 * The state of the work that a run launches: its actions, and the executions, pipelines and HTTP requests that they made.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { type Execution, type ExecutionStatus, getExecution } from "../store/records/executions.ts";
import { getPipeline, type Pipeline, type PipelineStatus } from "../store/records/pipelines.ts";
import {
  getHttpRequest,
  type HttpRequest,
  type HttpRequestStatus,
} from "../store/records/http_requests.ts";
import { getRun, type Run } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";
import type { RunReads } from "../telemetry/run_times.ts";
import { pollUntil, RunWaiters } from "./run_waiters.ts";

/** The states of a run's work. */
export const WORK_STATES = ["running", "complete", "error"] as const;

/** The state of a run's work: `error` when an action or anything that it launched did not complete. */
export type WorkState = typeof WORK_STATES[number];

/** Returns the state of a run's work from the statuses of what it has launched. */
export function workStateOf(
  { status }: Pick<Run, "status">,
  launched: readonly LaunchedStatus[],
): WorkState {
  if (status === "pending" || !launched.every(hasStatusEnded)) return "running";
  const isComplete = status === "completed" && launched.every((each) => each === "complete");
  return isComplete ? "complete" : "error";
}

type LaunchedStatus = ExecutionStatus | PipelineStatus | HttpRequestStatus;

/** Executions, pipelines and HTTP requests end with the same statuses. */
function hasStatusEnded(status: LaunchedStatus): boolean {
  return status === "complete" || status === "error" || status === "stopped";
}

/** The executions, pipelines and HTTP requests that the actions of a run have launched. What was removed is left out. */
export async function launchedBy(
  store: Store,
  { actions }: Pick<Run, "actions">,
): Promise<{ executions: Execution[]; pipelines: Pipeline[]; httpRequests: HttpRequest[] }> {
  const executions: Promise<Execution | undefined>[] = [];
  const pipelines: Promise<Pipeline | undefined>[] = [];
  const httpRequests: Promise<HttpRequest | undefined>[] = [];
  for (const { created } of actions) {
    if (created === undefined) continue;
    if ("execution_id" in created) executions.push(getExecution(store, created.execution_id));
    else if ("http_request_id" in created) {
      httpRequests.push(getHttpRequest(store, created.http_request_id));
    } else pipelines.push(getPipeline(store, created.pipeline_id));
  }
  const isThere = <T>(record: T | undefined) => record !== undefined;
  return {
    executions: (await Promise.all(executions)).filter(isThere),
    pipelines: (await Promise.all(pipelines)).filter(isThere),
    httpRequests: (await Promise.all(httpRequests)).filter(isThere),
  };
}

/** The reads from which metrics know when the work of runs has ended. */
export function runReads(store: Store): RunReads {
  return {
    run: (id) => getRun(store, id),
    async launchedBy(run) {
      const { executions, pipelines, httpRequests } = await launchedBy(store, run);
      return [...executions, ...pipelines, ...httpRequests];
    },
  };
}

/** Tells how far the work of runs is, and notifies those that wait for its end. */
export class RunWork {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #waiters = new RunWaiters();
  readonly #onEnd: (runId: string) => void;

  /** @param onEnd called when something that a run has launched has ended */
  constructor(
    { store, clock, onEnd = () => {} }: {
      store: Store;
      clock: Clock;
      onEnd?: (runId: string) => void;
    },
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  /** Returns the state of a run's work as it is stored now. */
  async stateOf(run: Pick<Run, "status" | "actions">): Promise<WorkState> {
    const { executions, pipelines, httpRequests } = await launchedBy(this.#store, run);
    const launched = [...executions, ...pipelines, ...httpRequests];
    return workStateOf(run, launched.map(({ status }) => status));
  }

  /** Waits until the work of a run that has ended is over, or the signal aborts. */
  async ended(run: Pick<Run, "id" | "status" | "actions">, signal: AbortSignal): Promise<void> {
    const isOver = async () => await this.stateOf(run) !== "running";
    // Where several instances share the database, another one may store the end.
    if (this.#store.shared) return void await pollUntil(isOver, this.#clock, signal);
    while (!signal.aborted && !await isOver()) await this.#waiters.wait(run.id, isOver, signal);
  }

  /** Tells that something that a run has launched has changed. Called once that is on disk. */
  changed({ run_id, status }: { run_id: string; status: LaunchedStatus }): void {
    if (!hasStatusEnded(status)) return;
    this.#waiters.notify(run_id);
    this.#onEnd(run_id);
  }
}
