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
  getExecution,
} from "../../store/records/executions.ts";
import {
  getPipeline,
  NODE_STATUSES,
  type NodeStatus,
  type Pipeline,
  PIPELINE_STATUSES,
  type PipelineStatus,
} from "../../store/records/pipelines.ts";
import type { Run } from "../../store/records/runs.ts";
import type { Store } from "../../store/store.ts";
import { text } from "./answer.ts";

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

/** The states of everything that a run has launched. What was removed is left out. */
export interface WorkStates {
  executions: ExecutionState[];
  pipelines: PipelineState[];
}

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
};

/** Returns a run with the states of what it has launched. */
export async function withStates<T extends Pick<Run, "actions">>(
  store: Store,
  run: T,
): Promise<T & WorkStates> {
  return { ...run, ...await statesOf(store, run) };
}

/** Reads the states of everything that a run has launched. */
export async function statesOf(
  store: Store,
  { actions }: Pick<Run, "actions">,
): Promise<WorkStates> {
  const executions: Promise<Execution | undefined>[] = [];
  const pipelines: Promise<Pipeline | undefined>[] = [];
  for (const { created } of actions) {
    if (created === undefined) continue;
    if ("execution_id" in created) executions.push(getExecution(store, created.execution_id));
    else pipelines.push(getPipeline(store, created.pipeline_id));
  }
  return {
    executions: (await Promise.all(executions)).flatMap((execution) =>
      execution ? [executionState(execution)] : []
    ),
    pipelines: (await Promise.all(pipelines)).flatMap((pipeline) =>
      pipeline ? [pipelineState(pipeline)] : []
    ),
  };
}

function executionState({ id, step, status }: Execution): ExecutionState {
  return { id, step, status };
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
