/**
 * Dead runs and pipelines: something of them has failed for good, though it was tried again.
 *
 * @module
 */
import { isDead } from "./attempts.ts";
import { getExecution, getExecutions } from "./executions.ts";
import { getHttpRequest } from "./http_requests.ts";
import { getPipeline, type Pipeline } from "./pipelines.ts";
import type { Run } from "./runs.ts";
import type { Store } from "../store.ts";

/** Returns true for a run with an execution, a node or an HTTP request that failed, and that nothing tries again. */
export async function isDeadRun(store: Store, { actions }: Pick<Run, "actions">): Promise<boolean> {
  for (const { created } of actions) {
    if (created !== undefined && await isDeadWork(store, created)) return true;
  }
  return false;
}

async function isDeadWork(
  store: Store,
  created: NonNullable<Run["actions"][number]["created"]>,
): Promise<boolean> {
  if ("execution_id" in created) {
    const execution = await getExecution(store, created.execution_id);
    return execution !== undefined && isDead(execution);
  }
  if ("http_request_id" in created) {
    return (await getHttpRequest(store, created.http_request_id))?.status === "error";
  }
  const pipeline = await getPipeline(store, created.pipeline_id);
  return pipeline !== undefined && await isDeadPipeline(store, pipeline);
}

/** Returns true for a pipeline with a node whose execution failed, and that nothing tries again. */
export async function isDeadPipeline(
  store: Store,
  { nodes }: Pick<Pipeline, "nodes">,
): Promise<boolean> {
  const failed = nodes.filter(({ status }) => status === "error")
    .flatMap(({ execution_id }) => execution_id ?? []);
  return (await getExecutions(store, failed)).some(isDead);
}
