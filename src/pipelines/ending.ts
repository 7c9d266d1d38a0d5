/**
 * How a pipeline ends before all of it has run.
 *
 * @module
 */
import type { Pipeline } from "../store/records/pipelines.ts";

const REASON_LENGTH_MAX = 1_024;

/** Decides how a pipeline ends, unless that is decided. What runs of it is stopped then. */
export function endPipeline(pipeline: Pipeline, ending: "stopped" | "error", reason: string): void {
  if (pipeline.ending !== undefined) return;
  pipeline.ending = ending;
  pipeline.status = "stopping";
  pipeline.reason = reason.slice(0, REASON_LENGTH_MAX);
}
