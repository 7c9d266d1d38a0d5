/**
 * Pipelines that an operator starts again: as a whole, or what of them has not completed.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { ConflictError } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import {
  createPipelineWrites,
  getPlan,
  hasPipelineEnded,
  type Pipeline,
  type PipelinePlan,
} from "../store/records/pipelines.ts";
import type { Author } from "../store/records/audit.ts";
import { getProject, type Project } from "../store/records/projects.ts";
import type { Store } from "../store/store.ts";
import { newPipeline } from "./new_pipeline.ts";
import { refusedNodes } from "./plan.ts";

/** The parts of the service that a new pipeline needs. */
export interface StartAgainParts {
  store: Store;
  clock: Clock;
  /** The operator who asks for it. */
  author: Author;
  /** Starts a pipeline that is on disk. */
  begin(pipelineId: string): void;
}

/**
 * Launches a pipeline again with the same commit, parameters and inputs.
 *
 * @returns the new pipeline
 * @throws {ConflictError} when that is not possible
 */
export async function copyPipeline(source: Pipeline, parts: StartAgainParts): Promise<Pipeline> {
  return await startAgain("copy", source, parts, (plan) => ({ ...plan, fresh: true }));
}

/**
 * Launches a pipeline again. A node that has completed keeps its results, as long as what it gets from the
 * nodes before it is the same.
 *
 * @returns the new pipeline
 * @throws {ConflictError} when that is not possible
 */
export async function retryPipeline(source: Pipeline, parts: StartAgainParts): Promise<Pipeline> {
  const { id, status, nodes } = source;
  if (!hasPipelineEnded(status)) {
    throw new ConflictError(
      `Cannot retry pipeline ${id}, which is ${status}: wait for its end, or stop it`,
    );
  }
  const complete = nodes.filter(({ status }) => status === "complete");
  if (complete.length === nodes.length) {
    throw new ConflictError(
      `Cannot retry pipeline ${id}: all its nodes have completed. Copy it to run them again`,
    );
  }
  const kept = complete.flatMap(({ name, execution_id }) =>
    execution_id === undefined ? [] : [{ node: name, execution_id }]
  );
  return await startAgain("retry", source, parts, (plan) => ({ ...plan, kept }));
}

async function startAgain(
  how: "copy" | "retry",
  source: Pipeline,
  { store, clock, author, begin }: StartAgainParts,
  change: (plan: PipelinePlan) => PipelinePlan,
): Promise<Pipeline> {
  const refuse = (why: string) => new ConflictError(`Cannot ${how} pipeline ${source.id}: ${why}`);
  const [project, sourcePlan] = await Promise.all([
    getProject(store, source.project),
    getPlan(store, source.id),
  ]);
  if (project === undefined) throw refuse(`its project "${source.project}" was deleted`);
  if (sourcePlan === undefined) throw refuse("its plan is damaged");
  const { kept: _kept, ...original } = sourcePlan;
  const [refused] = refusedNodes(original, project.engine);
  if (refused !== undefined) throw refuse(refused);
  const plan = change(original);
  const pipeline = pipelineOf(source, plan, { project, clock, author });
  let writes;
  try {
    writes = createPipelineWrites(pipeline, plan);
  } catch (error) {
    if (error instanceof RangeError) throw refuse(error.message);
    throw error;
  }
  await store.committer.write(writes);
  begin(pipeline.id);
  return pipeline;
}

function pipelineOf(
  source: Pipeline,
  plan: PipelinePlan,
  { project, clock, author }: { project: Project } & Pick<StartAgainParts, "clock" | "author">,
): Pipeline {
  const { run_id, trigger_id, commit, name, title } = source;
  const launched_by = { kind: "operator", ...author } as const;
  const origin = { run: { id: run_id, trigger_id, launched_by }, project, clock };
  const id = newId(clock.now());
  return { ...newPipeline(id, plan, origin, { commit, name, title }), copy_of: source.id };
}
