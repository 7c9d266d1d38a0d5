/**
 * The action `run_execution`: launches one execution of a step.
 *
 * @module
 */
import { z } from "zod";
import { derivedId } from "../ids.ts";
import { launchStep } from "../projects/mod.ts";
import {
  type Execution,
  getExecution,
  type InputFile,
  saveExecution,
} from "../store/executions.ts";
import type { CreatedObject, Run } from "../store/runs.ts";
import type { ActionContext, ActionKind } from "./action.ts";
import { payloadFileName } from "./payload_file.ts";

const schema = z.strictObject({
  type: z.literal("run_execution"),
  /** The step's name in the project configuration file. */
  step: z.string().min(1).max(256),
  /** A branch, tag or hash of the repository. */
  commit: z.string().min(1).max(256).default("HEAD"),
  /** The input that takes the payload; without it the payload is kept with the run alone. */
  payload_input_name: z.string().min(1).max(64).optional(),
  /** Values in place of the parameters' defaults. */
  parameters: z.record(z.string().max(256), z.json()).default({}),
  /** The execution's title; the step's name when absent. */
  title: z.string().min(1).max(256).optional(),
});

type Settings = z.infer<typeof schema>;

/** The kind `run_execution`. */
export const runExecution = {
  type: "run_execution",
  schema,
  async perform(settings: Settings, context: ActionContext): Promise<CreatedObject> {
    const { run, place, repeated, store, engines, project } = context;
    const id = derivedId(run.id, place, "execution");
    const existing = repeated ? await getExecution(store, id) : undefined;
    const execution = existing ?? await create(id, settings, context);
    engines.of(project.engine.type).submit(execution);
    return { execution_step: settings.step, execution_id: id };
  },
} satisfies ActionKind<Settings>;

async function create(id: string, settings: Settings, context: ActionContext): Promise<Execution> {
  const { run, project, projects, store, clock, signal } = context;
  const { commit, config } = await projects.resolve(project, settings.commit, signal);
  const launch = launchStep(config, settings.step, {
    parameters: settings.parameters,
    ...(settings.payload_input_name === undefined
      ? {}
      : { payloadInput: settings.payload_input_name }),
  });
  const execution: Execution = {
    id,
    run_id: run.id,
    trigger_id: run.trigger_id,
    project: project.name,
    commit,
    step: settings.step,
    title: settings.title ?? settings.step,
    image: launch.image,
    command: launch.command,
    inputs: payloadInputs(launch.payloadInput, run),
    parameters: launch.parameters,
    environment_variables: launch.environment_variables,
    ...(launch.time_limit === undefined ? {} : { time_limit: launch.time_limit }),
    ...(launch.no_output_timeout === undefined
      ? {}
      : { no_output_timeout: launch.no_output_timeout }),
    status: "queued",
    created_at: new Date(clock.now()).toISOString(),
    metadata: {},
    outputs: [],
  };
  await store.committer.commit(saveExecution(execution));
  return execution;
}

function payloadInputs(
  input: { name: string; filename?: string } | undefined,
  run: Run,
): Record<string, InputFile[]> {
  if (input === undefined) return {};
  const name = input.filename ?? payloadFileName(run.payload.content_type);
  return { [input.name]: [{ name, payload_of: run.id, size: run.payload.size }] };
}
