/**
 * The parts of previews that several kinds of actions share.
 *
 * @module
 */
import { ActionError } from "../platform/errors.ts";
import { EDGE_URL, launchBeforeEdges } from "../pipelines/mod.ts";
import { mapValues } from "../platform/objects.ts";
import { type Launch, type ResolvedCommit, type Step, stepOf } from "../projects/mod.ts";
import type { InputFile } from "../store/records/executions.ts";
import type { PipelinePlan } from "../store/records/pipelines.ts";
import type { PreviewContext, PreviewedExecution, PreviewedFile, PreviewedWork } from "./action.ts";

/**
 * Returns the code of a project at a commit, without fetching anything.
 *
 * @throws {ActionError} when it was never fetched, or there is no such commit
 */
export async function keptCommit(
  commit: string,
  { project, projects, signal }: PreviewContext,
): Promise<ResolvedCommit> {
  const kept = await projects.resolveKept(project, commit, signal);
  if (kept !== undefined) return kept;
  throw new ActionError(`The repository of project "${project.name}" was never fetched`);
}

/** Returns an execution as a preview shows it. */
export function previewOf(
  { parameters, launch, metadata = {}, ...names }: {
    node?: string;
    step: string;
    commit: string;
    title: string;
    parameters: Step["parameters"];
    launch: Launch;
    metadata?: Record<string, unknown> | undefined;
  },
): PreviewedExecution {
  return {
    ...names,
    parameters: Object.entries(launch.parameters).map(([name, value]) => {
      const { type = "string", multiple } = parameters.get(name) ?? {};
      return { name, type: multiple ? `list of ${type}` : type, value };
    }),
    inputs: mapValues(launch.inputs, (files) => files.map(shownFile)),
    environment: launch.environment_variables,
    metadata,
  };
}

/** Returns a pipeline as a preview shows it. What edges bring is known when it runs alone. */
export function previewOfPlan(plan: PipelinePlan, pipeline: string): PreviewedWork {
  const executions = plan.nodes.map((node) => {
    const { name, parameters } = stepOf(node.step);
    return previewOf({
      node: node.name,
      step: name,
      commit: node.commit,
      title: node.name,
      parameters,
      launch: launchBeforeEdges(plan, node),
      metadata: plan.metadata,
    });
  });
  return { pipeline, executions };
}

function shownFile(file: InputFile): PreviewedFile {
  const { name } = file;
  if ("payload_of" in file) return { name, from: "payload" };
  // The stand-in for what an edge brings.
  if (!("url" in file) || file.url === EDGE_URL) return { name, from: "edge" };
  return { name, url: file.url };
}
