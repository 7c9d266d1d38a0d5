/**
 * The action `run_execution`: launches one execution of a step.
 *
 * @module
 */
import { z } from "zod";
import { derivedId } from "../platform/ids.ts";
import { engineRefusals } from "../engines/mod.ts";
import { ActionError, type Problem } from "../platform/errors.ts";
import { pointer } from "../platform/schema/pointer.ts";
import {
  findStep,
  launchProblems,
  launchStep,
  type ProjectConfig,
  type Step,
} from "../projects/mod.ts";
import type { Project } from "../store/records/projects.ts";
import { type Execution, executionWrites, getExecution } from "../store/records/executions.ts";
import { activeTrace } from "../telemetry/spans.ts";
import type { ActionContext, ActionKind, Made } from "./action.ts";
import { checkAtCommit, type CheckContext, problemOf } from "./check.ts";
import { ANY_PAYLOAD, payloadFile } from "./payload_file.ts";

const schema = z.strictObject({
  type: z.literal("run_execution"),
  /** The step's name in the project configuration file. */
  step: z.string().min(1).max(256),
  /** A branch, tag or hash of the repository. */
  commit: z.string().min(1).max(256).default("HEAD"),
  /** The input that takes the payload. Without it, only the run keeps the payload. */
  payload_input_name: z.string().min(1).max(64).optional(),
  /** Values that replace the defaults of the step's parameters. */
  parameters: z.record(z.string().max(256), z.json()).default({}),
  /** The execution's title; by default, the step's name. */
  title: z.string().min(1).max(256).optional(),
});

type Settings = z.infer<typeof schema>;

/** The kind `run_execution`. */
export const runExecution = {
  type: "run_execution",
  schema,
  check(settings: Settings, context: CheckContext): Promise<Problem[]> {
    return checkAtCommit(
      settings.commit,
      context,
      ({ config }) => checkStep(settings, config, context.project),
    );
  },
  async perform(settings: Settings, context: ActionContext): Promise<Made> {
    const { run, place, repeated, store, engines } = context;
    const id = derivedId(run.id, place, "execution");
    const existing = repeated ? await getExecution(store, id) : undefined;
    const execution = existing ?? await newExecution(id, settings, context);
    const engine = engines.of(execution.engine.type);
    return {
      created: { execution_step: settings.step, execution_id: id },
      writes: existing ? [] : executionWrites(execution),
      begin: () => engine.submit(execution),
    };
  },
} satisfies ActionKind<Settings>;

function checkStep(settings: Settings, config: ProjectConfig, { engine }: Project): Problem[] {
  let step: Step;
  try {
    step = findStep(config, settings.step);
  } catch (error) {
    return problemOf("/step", error);
  }
  const { payload_input_name: input, parameters } = settings;
  const inputs = input === undefined ? {} : { [input]: [ANY_PAYLOAD] };
  const refused = engineRefusals(engine, step).map((detail) => {
    return { pointer: "/step", detail: `Cannot run step "${step.name}": ${detail}` };
  });
  const problems = launchProblems(step, { parameters, inputs }).map(({ pointer: at, detail }) => {
    // An action brings only the payload, and no environment variables.
    if (input !== undefined && at === pointer("inputs", input)) {
      return { pointer: "/payload_input_name", detail };
    }
    return { pointer: at.startsWith("/parameters/") ? at : "/step", detail };
  });
  return [...problems, ...refused];
}

async function newExecution(
  id: string,
  settings: Settings,
  context: ActionContext,
): Promise<Execution> {
  const { run, project, projects, clock, signal } = context;
  const { commit, config } = await projects.resolve(project, settings.commit, signal);
  const { payload_input_name: input } = settings;
  const step = findStep(config, settings.step);
  const [refused] = engineRefusals(project.engine, step);
  if (refused !== undefined) throw new ActionError(`Cannot run step "${step.name}": ${refused}`);
  const launch = launchStep(step, {
    parameters: settings.parameters,
    inputs: input === undefined ? {} : { [input]: [payloadFile(run)] },
  });
  return {
    id,
    run_id: run.id,
    trigger_id: run.trigger_id,
    project: project.name,
    engine: project.engine,
    commit,
    step: settings.step,
    title: settings.title ?? settings.step,
    ...launch,
    ...activeTrace(),
    status: "queued",
    created_at: new Date(clock.now()).toISOString(),
    metadata: {},
    outputs: [],
  };
}
