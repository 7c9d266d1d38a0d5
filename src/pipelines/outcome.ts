/**
 * The outcomes of pipelines and their nodes.
 *
 * @module
 */
import type { NodeState, Pipeline } from "../store/records/pipelines.ts";

const REASON_LENGTH_MAX = 1_024;

/** Decides how a pipeline ends, unless that is decided. Its running executions are stopped then. */
export function endPipeline(pipeline: Pipeline, ending: "stopped" | "error", reason: string): void {
  if (pipeline.ending !== undefined) return;
  pipeline.ending = ending;
  pipeline.status = "stopping";
  pipeline.reason = reason.slice(0, REASON_LENGTH_MAX);
}

/** Ends a node that was not launched. */
export function skipNode(node: NodeState, reason: string): void {
  node.status = "skipped";
  node.reason = reason;
}

/** Returns true for the status of a node that has ended. */
export function hasNodeEnded(status: NodeState["status"]): boolean {
  return status === "complete" || status === "error" || status === "stopped" ||
    status === "skipped";
}
