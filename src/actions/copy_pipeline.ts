/**
 * The action `copy_pipeline`: launches a pipeline again with the same commit, nodes, parameters and
 * inputs, and the payload in place of one input's files.
 *
 * @module
 */
import { z } from "zod";
import { ActionError, type Problem } from "../platform/errors.ts";
import { derivedId, ID_PATTERN } from "../platform/ids.ts";
import { dryRun, newPipeline, refusedNodes, setParameters, setPayload } from "../pipelines/mod.ts";
import type { Write } from "../store/commit/change.ts";
import {
  createPipelineWrites,
  getPipeline,
  getPlan,
  type Pipeline,
  type PipelinePlan,
} from "../store/records/pipelines.ts";
import type { InputFile } from "../store/records/executions.ts";
import type { Project } from "../store/records/projects.ts";
import type { Store } from "../store/store.ts";
import type { ActionContext, ActionKind, Made, PreviewContext, PreviewedWork } from "./action.ts";
import { previewOfPlan } from "./preview_parts.ts";
import { type CheckContext, problemOf } from "./check.ts";
import { ANY_PAYLOAD, payloadFile } from "./payload_file.ts";
import { payloadTargetSchema } from "./payload_target.ts";
import { givenMetadata, metadataField } from "./metadata.ts";
import { retryField } from "./retry.ts";
import { commonFields, withPendingValues } from "./values.ts";

const schema = z.strictObject({
  type: z.literal("copy_pipeline"),
  ...commonFields,
  /** The id of a pipeline of the same project, which is kept as long as the trigger names it. */
  source_pipeline: z.string().regex(ID_PATTERN, { error: "Expected the id of a pipeline" }),
  payload_input_name: payloadTargetSchema.optional(),
  /** Values in place of those of the source: of its parameters, and of its nodes' own as `<node>.<parameter>`. */
  parameters: z.record(z.string().max(512), z.json()).optional(),
  ...metadataField,
  ...retryField,
  /** The new pipeline's title; by default, the title of the source. */
  title: z.string().min(1).max(256).optional(),
});

type Settings = z.infer<typeof schema>;

/** The kind `copy_pipeline`. */
export const copyPipeline = {
  type: "copy_pipeline",
  schema,
  async check(settings: Settings, { project, store }: CheckContext): Promise<Problem[]> {
    if (store === undefined) return [];
    const { source_pipeline, parameters = {} } = settings;
    try {
      const { plan } = await findSource(source_pipeline, project, store);
      const given = {
        ...settings,
        parameters: await withPendingValues(parameters),
        metadata: undefined,
      };
      return change(plan, given, ANY_PAYLOAD).map(({ pointer, detail }) => {
        return { pointer, detail: `Cannot be taken: ${detail}` };
      });
    } catch (error) {
      return problemOf("/source_pipeline", error);
    }
  },
  async preview(settings: Settings, context: PreviewContext): Promise<PreviewedWork> {
    const { project, store, payload } = context;
    const { source, plan } = await copiedPlan(settings, { project, store, payload });
    return previewOfPlan(plan, source.name);
  },
  async perform(settings: Settings, context: ActionContext): Promise<Made> {
    const { run, place, repeated, store, pipelines } = context;
    const id = derivedId(run.id, place, "pipeline");
    const existing = repeated ? await getPipeline(store, id) : undefined;
    const { name, writes } = existing
      ? { name: existing.name, writes: [] }
      : await copy(id, settings, context);
    return {
      created: { pipeline_name: name, pipeline_id: id },
      writes,
      begin: () => pipelines.begin(id),
    };
  },
} satisfies ActionKind<Settings>;

async function copy(
  id: string,
  settings: Settings,
  context: ActionContext,
): Promise<{ name: string; writes: Write[] }> {
  const { run, project, store } = context;
  const { title } = settings;
  const { source, plan } = await copiedPlan(settings, {
    project,
    store,
    payload: await payloadFile(run),
  });
  const { commit, name } = source;
  const pipeline = newPipeline(id, plan, context, { commit, name, title: title ?? source.title });
  return { name, writes: createPipelineWrites({ ...pipeline, copy_of: source.id }, plan) };
}

/** @throws {ActionError} when the source is not there, or cannot run with what the settings say */
async function copiedPlan(
  settings: Settings,
  { project, store, payload }: Pick<PreviewContext, "project" | "store" | "payload">,
): Promise<{ source: Pipeline; plan: PipelinePlan }> {
  const { source_pipeline } = settings;
  const { source, plan } = await findSource(source_pipeline, project, store);
  const problems = change(plan, settings, payload).map(({ detail }) => detail);
  const why = [...problems, ...refusedNodes(plan, project.engine)].join("; ");
  if (why !== "") throw new ActionError(`Cannot copy pipeline ${source_pipeline}: ${why}`);
  return { source, plan };
}

/** The settings of a copy that replace those of its source. */
type Changes = Pick<Settings, "payload_input_name" | "metadata" | "retry"> & {
  parameters?: Readonly<Record<string, unknown>> | undefined;
};

/** Makes the plan of the copy of its source's; returns what cannot be taken, with pointers into the settings. */
function change(plan: PipelinePlan, settings: Changes, payload: InputFile): Problem[] {
  const { payload_input_name: target, parameters } = settings;
  const problems = setParameters(plan, parameters);
  const detail = target && setPayload(plan, { target, file: payload });
  if (detail) problems.push({ pointer: "/payload_input_name", detail });
  const metadata = givenMetadata(settings);
  if (metadata) plan.metadata = { ...plan.metadata, ...metadata };
  if (settings.retry) plan.retry = settings.retry;
  if (parameters === undefined || problems.length > 0) return problems;
  return dryRun(plan).map((detail) => ({ pointer: "/parameters", detail }));
}

async function findSource(
  id: string,
  project: Project,
  store: Store,
): Promise<{ source: Pipeline; plan: PipelinePlan }> {
  const [source, plan] = await Promise.all([getPipeline(store, id), getPlan(store, id)]);
  if (source !== undefined && plan !== undefined && source.project === project.name) {
    // What a retry took over is launched again.
    const { kept: _kept, fresh: _fresh, ...original } = plan;
    return { source, plan: original };
  }
  throw new ActionError(
    `Cannot copy pipeline ${id}: project "${project.name}" has none of this id`,
  );
}
