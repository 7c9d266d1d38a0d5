/**
 * The record of a pipeline that has not started.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import type { Pipeline, PipelinePlan } from "../store/records/pipelines.ts";
import type { Project } from "../store/records/projects.ts";
import type { Run } from "../store/records/runs.ts";
import { launcherFields } from "../store/records/launchers.ts";
import { activeTrace } from "../telemetry/spans.ts";

/** The origin of a pipeline. */
interface PipelineOrigin {
  run: Pick<Run, "id" | "trigger_id" | "launched_by">;
  project: Project;
  clock: Clock;
}

/** Makes the record of a pipeline that has not started. */
export function newPipeline(
  id: string,
  plan: PipelinePlan,
  { run, project, clock }: PipelineOrigin,
  names: Pick<Pipeline, "commit" | "name" | "title">,
): Pipeline {
  return {
    id,
    run_id: run.id,
    trigger_id: run.trigger_id,
    ...launcherFields(run),
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
