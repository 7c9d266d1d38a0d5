/**
 * What the actions that launch pipelines have in common.
 *
 * @module
 */
import { z } from "zod";
import type { Pipeline, PipelinePlan } from "../store/records/pipelines.ts";
import { activeTrace } from "../telemetry/spans.ts";
import type { ActionContext } from "./action.ts";

/** The input that takes the payload, as `<node>.<input>`. */
export const payloadTargetSchema = z.string().max(512).regex(/^.+\.[^.]+$/, {
  error: 'Expected a node and an input of its step, such as "ingest.labels"',
});

/** A new pipeline, of which nothing has started. */
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
    ...names,
    ...activeTrace(),
    status: "created",
    created_at: new Date(clock.now()).toISOString(),
    nodes: plan.nodes.map(({ name, step }) => {
      return { name, step: String(step.name), status: "created", attempts: 0 };
    }),
  };
}
