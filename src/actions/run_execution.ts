/**
 * The action `run_execution`: launches one execution of a step.
 *
 * @module
 */
import { z } from "zod";
import { derivedId } from "../platform/ids.ts";
import { engineRefusals } from "../engines/mod.ts";
import { ActionError, type Problem } from "../platform/errors.ts";
import { pointerParts } from "../platform/schema/pointer.ts";
import {
  fileOfUrl,
  findStep,
  type LaunchOptions,
  launchProblems,
  launchStep,
  type ProjectConfig,
  type Step,
  VARIABLE_NAME,
} from "../projects/mod.ts";
import type { Project } from "../store/records/projects.ts";
import {
  type Execution,
  executionWrites,
  getAttempt,
  getExecution,
  initialMetadata,
  type InputFile,
} from "../store/records/executions.ts";
import { firstAttempt } from "../store/records/attempts.ts";
import { launcherFields } from "../store/records/launchers.ts";
import { activeTrace } from "../telemetry/spans.ts";
import type { ActionContext, ActionKind, Made, PreviewContext, PreviewedWork } from "./action.ts";
import { keptCommit, previewOf } from "./preview_parts.ts";
import { checkAtCommit, type CheckContext, missingSecretsOf, problemOf } from "./check.ts";
import { ANY_PAYLOAD, payloadFile } from "./payload_file.ts";
import { givenMetadata, metadataField } from "./metadata.ts";
import { retryField } from "./retry.ts";
import { commonFields, withPendingValues } from "./values.ts";

/**
 * Variables by which loaders, shells, interpreters and installers of packages find code. The project chooses the code
 * that runs, and neither a request nor who edits triggers.
 */
const CHOOSES_CODE = new RegExp(
  [
    "(?:LD|DYLD|BASH|JAVA|_JAVA|JDK|XDG|VH|PIP|NPM_CONFIG)_.*|GCONV_PATH",
    // Those of uv, and not Node's own.
    "UV_(?!(?:THREADPOOL_SIZE|USE_IO_URING)$).*",
    "PYTHON[A-Z]*|PERL5?(?:LIB|OPT|DB)|RUBY(?:LIB|OPT)|CLASSPATH|LUA_.*|R_.*|NODE_(?:OPTIONS|PATH)",
    "GIT_(?:SSH.*|EXEC_PATH|CONFIG.*|ASKPASS|EDITOR|PAGER|PROXY_COMMAND|EXTERNAL_DIFF|TEMPLATE_DIR)",
    "PATH|HOME|ENV|IFS|CDPATH|SHELL|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|ZDOTDIR|EDITOR|PAGER|MAKEFLAGS",
  ].map((names) => `^(?:${names})$`).join("|"),
  "i",
);

const schema = z.strictObject({
  type: z.literal("run_execution"),
  ...commonFields,
  /** The step's name in the project configuration file. */
  step: z.string().min(1).max(256),
  /** A branch, tag or hash of the repository. */
  commit: z.string().min(1).max(256).default("HEAD"),
  /** The input that takes the payload. Without it, only the run keeps the payload. */
  payload_input_name: z.string().min(1).max(64).optional(),
  /** Values that replace the defaults of the step's parameters. */
  parameters: z.record(z.string().max(256), z.json()).default({}),
  /** Values that replace the defaults of the step's environment variables, or are added to them. */
  environment: z.record(
    z.string().max(256).regex(VARIABLE_NAME, {
      error: "Expected a name of letters, digits and underscores that begins with no digit",
    }).refine((name) => !CHOOSES_CODE.test(name), {
      error:
        "Must not be a variable by which shells and interpreters find code: set it in the step",
    }),
    z.string().max(65_536),
  ).optional(),
  ...metadataField,
  ...retryField,
  /** The URLs of files that replace the default files of inputs, by the input's name. */
  inputs: z.record(z.string().max(64), z.array(z.string().min(1).max(4_096)).max(1_000)).optional(),
  /** The execution's title; by default, the step's name. */
  title: z.string().min(1).max(256).optional(),
});

type Settings = z.infer<typeof schema>;
/** Settings whose parameters may be stand-ins. */
type Written = Omit<Settings, "parameters"> & Pick<LaunchOptions, "parameters">;

/** The kind `run_execution`. */
export const runExecution = {
  type: "run_execution",
  schema,
  check(settings: Settings, context: CheckContext): Promise<Problem[]> {
    return checkAtCommit(
      settings.commit,
      context,
      async ({ config }) => {
        const parameters = await withPendingValues(settings.parameters);
        return checkStep({ ...settings, parameters }, config, context);
      },
    );
  },
  async preview(settings: Settings, context: PreviewContext): Promise<PreviewedWork> {
    const { commit, config } = await keptCommit(settings.commit, context);
    const step = stepFor(settings, config, context.project);
    const launch = launchStep(step, launchOptions(step, settings, context.payload));
    const names = { step: settings.step, commit, title: settings.title ?? settings.step };
    const metadata = givenMetadata(settings);
    return { executions: [previewOf({ ...names, parameters: step.parameters, launch, metadata })] };
  },
  async perform(settings: Settings, context: ActionContext): Promise<Made> {
    const { run, place, repeated, store, engines } = context;
    const id = derivedId(run.id, place, "execution");
    const existing = repeated ? await getExecution(store, id) : undefined;
    const execution = existing === undefined
      ? firstAttempt(await newExecution(id, settings, context))
      : await getAttempt(store, existing) ?? existing;
    const engine = engines.of(execution.engine.type);
    return {
      created: { execution_step: settings.step, execution_id: id },
      writes: existing ? [] : executionWrites(execution),
      begin: () => engine.submit(execution),
    };
  },
} satisfies ActionKind<Settings>;

function checkStep(settings: Written, config: ProjectConfig, context: CheckContext): Problem[] {
  const { engine } = context.project;
  let step: Step;
  try {
    step = findStep(config, settings.step);
  } catch (error) {
    return problemOf("/step", error);
  }
  const { payload_input_name: input } = settings;
  const refused = engineRefusals(engine, step).map((detail) => {
    return { pointer: "/step", detail: `Cannot run step "${step.name}": ${detail}` };
  });
  const launched = launchOptions(step, settings, ANY_PAYLOAD);
  const problems = launchProblems(step, launched).map(({ pointer: at, detail }) => {
    const [field = "", name = ""] = pointerParts(at);
    if (field === "inputs" && name === input) return { pointer: "/payload_input_name", detail };
    const isSet = field === "parameters" || Object.hasOwn(settings.inputs ?? {}, name);
    return { pointer: isSet ? at : "/step", detail };
  });
  if (problems.length > 0) return [...problems, ...refused];
  const missing = missingSecretsOf([launchStep(step, launched)], context).map((detail) => {
    return { pointer: "/step", detail: `Cannot run step "${step.name}": ${detail}` };
  });
  return [...refused, ...missing];
}

/** The values and files that an action brings. The payload comes behind other files of its input. */
function launchOptions(
  step: Step,
  settings: Written,
  payload: InputFile,
): LaunchOptions {
  const { parameters = {}, environment, payload_input_name: target } = settings;
  const inputs: Record<string, InputFile[]> = {};
  for (const [name, urls] of Object.entries(settings.inputs ?? {})) {
    const keep = step.inputs.get(name)?.keepDirectories ?? "none";
    inputs[name] = urls.map((url) => fileOfUrl(url, keep));
  }
  if (target !== undefined) inputs[target] = [...inputs[target] ?? [], payload];
  return {
    parameters,
    inputs,
    ...(environment !== undefined && { environment_variables: textsOf(environment) }),
  };
}

/** A value of a variable may be a number, true or false, which a variable holds as text. */
function textsOf(environment: Readonly<Record<string, unknown>>): Record<string, string> {
  const texts = Object.entries(environment).map(([name, value]) => {
    if (["string", "number", "boolean"].includes(typeof value)) return [name, String(value)];
    const found = Array.isArray(value) ? "a list" : value === null ? "null" : "a map";
    throw new ActionError(
      `Cannot set the variable ${name}: expected a text, a number, true or false, found ${found}`,
    );
  });
  return Object.fromEntries(texts);
}

/** @throws {ActionError} when there is no such step, or the engine cannot run it */
function stepFor(settings: Settings, config: ProjectConfig, { engine }: Project): Step {
  const step = findStep(config, settings.step);
  const [refused] = engineRefusals(engine, step);
  if (refused !== undefined) throw new ActionError(`Cannot run step "${step.name}": ${refused}`);
  return step;
}

async function newExecution(
  id: string,
  settings: Settings,
  context: ActionContext,
): Promise<Execution> {
  const { run, project, projects, clock, signal } = context;
  const { commit, config } = await projects.resolve(project, settings.commit, signal);
  const step = stepFor(settings, config, project);
  const launch = launchStep(step, launchOptions(step, settings, await payloadFile(run)));
  return {
    id,
    run_id: run.id,
    trigger_id: run.trigger_id,
    ...launcherFields(run),
    project: project.name,
    engine: project.engine,
    commit,
    step: settings.step,
    title: settings.title ?? settings.step,
    ...launch,
    ...activeTrace(),
    ...(settings.retry && { retry: settings.retry }),
    status: "queued",
    created_at: new Date(clock.now()).toISOString(),
    ...initialMetadata(givenMetadata(settings)),
    outputs: [],
  };
}
