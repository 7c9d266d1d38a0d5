/**
 * The states of what runs have launched. A run is over when its executions are launched, so their states
 * stand beside it.
 *
 * @module
 */
import { z } from "zod";
import {
  type Execution,
  EXECUTION_STATUSES,
  type ExecutionStatus,
} from "../../store/records/executions.ts";
import {
  HTTP_REQUEST_STATUSES,
  type HttpRequest,
  type HttpRequestStatus,
} from "../../store/records/http_requests.ts";
import {
  NODE_STATUSES,
  type NodeStatus,
  type Pipeline,
  PIPELINE_STATUSES,
  type PipelineStatus,
} from "../../store/records/pipelines.ts";
import type { Run } from "../../store/records/runs.ts";
import { launchedBy, WORK_STATES, type WorkState, workStateOf } from "../../runs/work_state.ts";
import type { Store } from "../../store/store.ts";
import type { Waiting } from "../../runs/pace/waiting.ts";
import type { Worker } from "../../runs/worker.ts";
import type { Clock } from "../../platform/clock.ts";
import { count, text, time } from "./answer.ts";
import { waitingOf } from "./unended_runs.ts";

/** An execution that an action of a run has launched, and how far it is. */
interface ExecutionState {
  id: string;
  step: string;
  status: ExecutionStatus;
}

/** A pipeline that an action of a run has launched, and how far it and its nodes are. */
interface PipelineState {
  id: string;
  name: string;
  status: PipelineStatus;
  nodes: { name: string; status: NodeStatus; execution_id?: string }[];
}

/** An HTTP request that an action of a run sends, and how far it is. */
interface HttpRequestState {
  id: string;
  url: string;
  status: HttpRequestStatus;
  /** The status of the answer. */
  answered?: number;
}

/** The states of everything that a run has launched. What was removed is left out. */
export interface WorkStates {
  executions: ExecutionState[];
  pipelines: PipelineState[];
  http_requests: HttpRequestState[];
}

/** The state of all that a run launches, in one word. */
export interface RunWorkState {
  work: WorkState;
}

/** The turn of a run that is not performed yet, by the pace of its trigger. */
export interface RunTurn {
  waiting?: Waiting;
}

/** The schema of {@linkcode Waiting}. */
export const waitingSchema = z.discriminatedUnion("for", [
  z.object({ for: z.literal("burst"), key: text, until: time }),
  z.object({ for: z.literal("delay"), until: time }),
  z.object({
    for: z.literal("concurrency"),
    key: text,
    limit: count,
    place: count.describe("From 1"),
    behind: z.array(text).describe("The runs of its key with work under way"),
  }),
]).describe(
  "What it waits for: other runs of its burst, a time, or a place among the runs of its concurrency key",
);

/** The schema of the state of a run's work. */
export const workState = z.enum(WORK_STATES).describe(
  "`running` until everything that it launched has ended; `complete` when all of it is complete; " +
    "`error` when an action failed, or when something that it launched failed or was stopped",
);

/** The schemas of {@linkcode WorkStates}. */
export const workStates = {
  executions: z.array(z.object({ id: text, step: text, status: z.enum(EXECUTION_STATUSES) }))
    .describe("The states of the executions that its actions have launched"),
  pipelines: z.array(z.object({
    id: text,
    name: text,
    status: z.enum(PIPELINE_STATUSES),
    nodes: z.array(z.object({
      name: text,
      status: z.enum(NODE_STATUSES),
      execution_id: text.exactOptional(),
    })),
  })).describe("The states of the pipelines that its actions have launched"),
  http_requests: z.array(z.object({
    id: text,
    url: text,
    status: z.enum(HTTP_REQUEST_STATUSES),
    answered: z.int().exactOptional().describe("The status of the answer"),
  })).describe("The states of the HTTP requests that its actions send"),
};

/** Returns a run with the states of what it has launched, and what it waits for. */
export async function withStates<T extends Pick<Run, "id" | "trigger_id" | "actions" | "status">>(
  parts: { store: Store; worker: Pick<Worker, "pacer">; clock: Clock },
  run: T,
): Promise<T & WorkStates & RunWorkState & RunTurn> {
  const [states, waiting] = await Promise.all([
    statesOf(parts.store, run),
    waitingOf(parts, run),
  ]);
  const { executions, pipelines, http_requests } = states;
  const launched = [...executions, ...pipelines, ...http_requests].map(({ status }) => status);
  const work = workStateOf(run, launched);
  return { ...run, ...states, work, ...(waiting && { waiting }) };
}

/** Reads the states of everything that a run has launched. */
export async function statesOf(store: Store, run: Pick<Run, "actions">): Promise<WorkStates> {
  const { executions, pipelines, httpRequests } = await launchedBy(store, run);
  return {
    executions: executions.map(executionState),
    pipelines: pipelines.map(pipelineState),
    http_requests: httpRequests.map(httpRequestState),
  };
}

function executionState({ id, step, status }: Execution): ExecutionState {
  return { id, step, status };
}

function httpRequestState({ id, url, status, answer }: HttpRequest): HttpRequestState {
  const answered = answer?.status;
  return { id, url, status, ...(answered !== undefined && { answered }) };
}

function pipelineState({ id, name, status, nodes }: Pipeline): PipelineState {
  return {
    id,
    name,
    status,
    nodes: nodes.map(({ name, status, execution_id }) => ({
      name,
      status,
      ...(execution_id === undefined ? {} : { execution_id }),
    })),
  };
}
