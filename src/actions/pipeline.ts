/**
 * Common parts of the actions that launch pipelines.
 *
 * @module
 */
import { z } from "zod";
import type { Pipeline, PipelinePlan } from "../store/records/pipelines.ts";
import { activeTrace } from "../telemetry/spans.ts";
import type { ActionContext } from "./action.ts";

/** The schema of the input that takes the payload, `<node>.<input>`. */
export const payloadTargetSchema = z.string().max(512).regex(/^.+\.[^.]+$/, {
  error: 'Expected a node and an input of its step, such as "ingest.labels"',
});

/** Makes the record of a pipeline that has not started. */
export function newPipeline(
  id: string,
  plan: PipelinePlan,
  { run, project, clock }: Pick<ActionContext, "run" | "project" | "clock">,
  names: Pick<Pipeline, "commit" | "name" | "title">,
): Pipeline {
  return {
    id,
    run_id: run.id,
    trigger_id: run.trigger_id,
    project: project.name,
    engine: project.engine,
    ...names,
    ...activeTrace(),
    status: "created",
    created_at: new Date(clock.now()).toISOString(),
    nodes: plan.nodes.map(({ name, step }) => {
      return { name, step: String(step.name), status: "created", attempts: 0 };
    }),
  };
}
