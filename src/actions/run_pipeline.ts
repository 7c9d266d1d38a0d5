/**
 * The action `run_pipeline`: launches a pipeline of the project configuration file.
 *
 * @module
 */
import { z } from "zod";
import { derivedId } from "../platform/ids.ts";
import type { Problem } from "../platform/errors.ts";
import {
  dryLaunch,
  newPipeline,
  planPipeline,
  planProblems,
  type PlanRequest,
} from "../pipelines/mod.ts";
import type { InputFile } from "../store/records/executions.ts";
import { createPipelineWrites, getPipeline } from "../store/records/pipelines.ts";
import type { Project } from "../store/records/projects.ts";
import type { Write } from "../store/commit/change.ts";
import type { ActionContext, ActionKind, Made, PreviewContext, PreviewedWork } from "./action.ts";
import { keptCommit, previewOfPlan } from "./preview_parts.ts";
import { checkAtCommit, type CheckContext, missingSecretsOf, problemOf } from "./check.ts";
import { ANY_PAYLOAD, payloadFile } from "./payload_file.ts";
import { payloadTargetSchema } from "./payload_target.ts";
import { givenMetadata, metadataField } from "./metadata.ts";
import { retryField } from "./retry.ts";
import { commonFields, withPendingValues } from "./values.ts";

const schema = z.strictObject({
  type: z.literal("run_pipeline"),
  ...commonFields,
  /** The pipeline's name in the project configuration file. */
  pipeline: z.string().min(1).max(256),
  /** A branch, tag or hash of the repository. */
  commit: z.string().min(1).max(256).default("HEAD"),
  payload_input_name: payloadTargetSchema.optional(),
  /** Values of the pipeline's parameters, and of its nodes' own as `<node>.<parameter>`. */
  parameters: z.record(z.string().max(512), z.json()).default({}),
  ...metadataField,
  ...retryField,
  /** The pipeline's title; by default, its name. */
  title: z.string().min(1).max(256).optional(),
});

type Settings = z.infer<typeof schema>;

/** The kind `run_pipeline`. */
export const runPipeline = {
  type: "run_pipeline",
  schema,
  check(settings: Settings, context: CheckContext): Promise<Problem[]> {
    return checkAtCommit(settings.commit, context, async (at) => {
      const { pipeline: name, payload_input_name: target, parameters } = settings;
      const { project, projects, signal } = context;
      const resolve = (reference: string) => projects.resolve(project, reference, signal);
      const payload = target === undefined ? {} : { payload: { target, file: ANY_PAYLOAD } };
      try {
        const request: PlanRequest = {
          name,
          at,
          engine: project.engine,
          parameters: await withPendingValues(parameters),
          ...payload,
          resolve,
        };
        const problems = await planProblems(request);
        if (problems.length > 0) return problems;
        const plan = await planPipeline(request);
        const launches = plan.nodes.map((node) => dryLaunch(plan, node));
        return missingSecretsOf(launches, context).map((detail) => {
          return { pointer: "/pipeline", detail: `Cannot run pipeline "${name}": ${detail}` };
        });
      } catch (error) {
        return problemOf("/pipeline", error);
      }
    });
  },
  async preview(settings: Settings, context: PreviewContext): Promise<PreviewedWork> {
    const { project, payload } = context;
    const at = await keptCommit(settings.commit, context);
    const resolve = (reference: string) => keptCommit(reference, context);
    const plan = await planPipeline(planRequest(settings, { at, project, payload, resolve }));
    return previewOfPlan(plan, settings.pipeline);
  },
  async perform(settings: Settings, context: ActionContext): Promise<Made> {
    const { run, place, repeated, store, pipelines } = context;
    const id = derivedId(run.id, place, "pipeline");
    const existing = repeated ? await getPipeline(store, id) : undefined;
    return {
      created: { pipeline_name: settings.pipeline, pipeline_id: id },
      writes: existing ? [] : await newPipelineWrites(id, settings, context),
      begin: () => pipelines.begin(id),
    };
  },
} satisfies ActionKind<Settings>;

async function newPipelineWrites(
  id: string,
  settings: Settings,
  context: ActionContext,
): Promise<Write[]> {
  const { run, project, projects, signal } = context;
  const { pipeline: name, title } = settings;
  const resolve = (reference: string) => projects.resolve(project, reference, signal);
  const at = await resolve(settings.commit);
  const payload = await payloadFile(run);
  const plan = await planPipeline(planRequest(settings, { at, project, payload, resolve }));
  const pipeline = newPipeline(id, plan, context, {
    commit: at.commit,
    name,
    title: title ?? name,
  });
  return createPipelineWrites(pipeline, plan);
}

function planRequest(
  settings: Settings,
  { at, project, payload, resolve }:
    & Pick<PlanRequest, "at" | "resolve">
    & { project: Project; payload: InputFile },
): PlanRequest {
  const { pipeline: name, payload_input_name: target, parameters } = settings;
  return {
    name,
    at,
    engine: project.engine,
    parameters,
    metadata: givenMetadata(settings),
    retry: settings.retry,
    ...(target === undefined ? {} : { payload: { target, file: payload } }),
    resolve,
  };
}
