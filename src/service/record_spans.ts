/**
 * Spans of runs, executions and pipelines. The id of a trigger is in none of them: where nothing else
 * is asked for, it is what it takes to launch.
 *
 * @module
 */
import { type Perform, statusOf } from "../runs/outcome.ts";
import { type Execution, hasEnded } from "../store/records/executions.ts";
import type { Pipeline } from "../store/records/pipelines.ts";
import {
  type Attributes,
  inSpan,
  isTracing,
  markFailed,
  pastSpan,
  wholeAttribute,
} from "../telemetry/spans.ts";

/**
 * Makes spans of the times at which runs are performed.
 *
 * @param nameOf the name of the trigger with an id; undefined when there is none any more
 */
export function traceRuns(
  nameOf: (triggerId: string) => Promise<string | undefined>,
  perform: Perform,
): Perform {
  if (!isTracing) return perform;
  return ({ run, ...waiting }, signal) => {
    const attributes: Attributes = {
      "hooklaunch.run": run.id,
      "hooklaunch.project": run.project,
    };
    return inSpan("run", { attributes }, async (span) => {
      const trigger = await nameOf(run.trigger_id).catch(() => undefined);
      if (trigger !== undefined) span?.setAttribute("hooklaunch.trigger", trigger);
      const performed = await perform({ run, ...waiting }, signal);
      // What was cut off by the stop is not an outcome.
      const status = signal.aborted ? "pending" : statusOf(performed.outcomes);
      span?.setAttribute("hooklaunch.status", status);
      if (span && status !== "completed" && status !== "pending") markFailed(span);
      return performed;
    });
  };
}

/** Makes the span of an execution, once it has ended. */
export function traceExecution(execution: Execution): void {
  if (!isTracing || !hasEnded(execution.status)) return;
  const { id, run_id, pipeline_id, node, project, step, status, exit_code } = execution;
  const { created_at, ended_at = created_at, started_at = ended_at } = execution;
  pastSpan("execution", {
    traceparent: execution.traceparent,
    start: started_at,
    end: ended_at,
    attributes: {
      "hooklaunch.execution": id,
      "hooklaunch.run": run_id,
      "hooklaunch.project": project,
      "hooklaunch.step": step,
      "hooklaunch.status": status,
      ...(pipeline_id === undefined ? {} : { "hooklaunch.pipeline": pipeline_id }),
      ...(node === undefined ? {} : { "hooklaunch.node": node }),
      ...(exit_code === undefined ? {} : { "hooklaunch.exit_code": wholeAttribute(exit_code) }),
    },
    hasFailed: status === "error",
  });
}

/** Makes the span of a pipeline that has ended. */
export function tracePipeline(pipeline: Pipeline): void {
  if (!isTracing) return;
  const { id, run_id, project, name, status, created_at, ended_at = created_at } = pipeline;
  pastSpan("pipeline", {
    traceparent: pipeline.traceparent,
    start: created_at,
    end: ended_at,
    attributes: {
      "hooklaunch.pipeline": id,
      "hooklaunch.pipeline_name": name,
      "hooklaunch.run": run_id,
      "hooklaunch.project": project,
      "hooklaunch.status": status,
    },
    hasFailed: status === "error",
  });
}
