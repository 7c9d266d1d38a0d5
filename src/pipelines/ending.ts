/**
 * How a pipeline ends before all of it has run.
 *
 * @module
 */
import type { Pipeline } from "../store/pipelines.ts";

/** Decides how a pipeline ends, unless that is decided. What runs of it is stopped then. */
export function endPipeline(pipeline: Pipeline, ending: "stopped" | "error", reason: string): void {
  if (pipeline.ending !== undefined) return;
  pipeline.ending = ending;
  pipeline.status = "stopping";
  pipeline.reason = reason;
}
