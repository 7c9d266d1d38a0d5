/**
 * Launches of steps: a step of the project configuration file, and the values and files that an
 * action or a pipeline brings, make the fields of an execution.
 *
 * @module
 */
import { basename } from "node:path";
import { ActionError, type Problem } from "../platform/errors.ts";
import { pointer } from "../platform/schema/pointer.ts";
import { percentDecode } from "../platform/network/urls.ts";
import type { Execution, ExecutionSecret, InputFile } from "../store/records/executions.ts";
import { buildScript } from "./format/command/command.ts";
import {
  checkValue,
  formatAtom,
  type Parameter,
  type ParameterValue,
} from "./format/step/parameter.ts";
import { type Input, VARIABLE_NAME } from "./format/step/input.ts";
import { quotedList } from "../platform/text/display.ts";
import { PlaceholderBudget } from "./format/command/placeholder_budget.ts";
import type { Step } from "./format/step/step.ts";

const PARAMETER = /\{parameter:([^{}\n]+)\}/g;

/** Values and files that a launch brings. */
export interface LaunchOptions {
  /** Values that replace the defaults of parameters; null removes an optional parameter. */
  parameters?: Readonly<Record<string, unknown>>;
  /** Values that replace the defaults of the step's variables, or are added to them. */
  environment_variables?: Readonly<Record<string, string>>;
  /** Files that replace the default files of inputs, by the input's name. */
  inputs?: Readonly<Record<string, readonly InputFile[]>>;
  /**
   * The names of inputs that keep their default files in front of the ones that a launch brings.
   */
  appended?: ReadonlySet<string>;
}

/** The fields of an execution that its launch decides. */
export type Launch = Pick<
  Execution,
  | "image"
  | "command"
  | "inputs"
  | "parameters"
  | "environment_variables"
  | "secrets"
  | "resources"
  | "mounts"
  | "rerun"
  | "time_limit"
  | "no_output_timeout"
  | "stop_condition"
>;

/**
 * Resolves a launch of a step.
 *
 * @throws {ActionError} with every reason for which it cannot run, such as an input that the step
 *   does not declare
 */
export function launchStep(step: Step, options: LaunchOptions = {}): Launch {
  const problems: Problem[] = [];
  const launch = resolveLaunch(step, options, problems);
  if (launch) return launch;
  const details = problems.map(({ detail }) => detail).join("; ");
  throw new ActionError(`Cannot run step "${step.name}": ${details}`);
}

/** Returns every reason for which a launch cannot run, with pointers into its options. */
export function launchProblems(step: Step, options: LaunchOptions): Problem[] {
  const problems: Problem[] = [];
  try {
    resolveLaunch(step, options, problems);
  } catch (error) {
    if (!(error instanceof ActionError)) throw error;
    problems.push({ pointer: "", detail: error.message });
  }
  return problems.map(({ pointer, detail }) => {
    return { pointer, detail: `Cannot run step "${step.name}": ${detail}` };
  });
}

/** Returns undefined if there are problems, which it adds to a list. */
function resolveLaunch(
  step: Step,
  options: LaunchOptions,
  problems: Problem[],
): Launch | undefined {
  const values = parameterValues(step, options.parameters ?? {}, problems);
  const budget = new PlaceholderBudget();
  const inputs = inputFiles(step, options, values, budget, problems);
  const environment_variables = environmentOf(step, options, problems);
  const secrets = secretsOf(step, options);
  if (problems.length > 0) return undefined;
  const { parameters, sourcePath, timeLimit_s, noOutputTimeout_s, stopCondition, resources } = step;
  const { mounts } = step;
  const command = buildScript(step.commands, { parameters, values, sourcePath }, budget);
  return {
    image: step.image,
    command,
    inputs,
    parameters: Object.fromEntries(values),
    environment_variables,
    ...(secrets.length === 0 ? {} : { secrets: Object.fromEntries(secrets) }),
    ...(resources === undefined ? {} : { resources }),
    ...(mounts.length === 0 ? {} : { mounts }),
    ...(step.autorestart ? { rerun: true } : {}),
    ...(timeLimit_s === undefined ? {} : { time_limit: timeLimit_s }),
    ...(noOutputTimeout_s === undefined ? {} : { no_output_timeout: noOutputTimeout_s }),
    ...(stopCondition === undefined ? {} : { stop_condition: stopCondition }),
  };
}

function parameterValues(
  step: Step,
  given: Readonly<Record<string, unknown>>,
  problems: Problem[],
): Map<string, ParameterValue> {
  for (const name of Object.keys(given)) {
    if (!step.parameters.has(name)) {
      const detail = `it has no parameter "${name}"; its parameters are ${
        quotedList(step.parameters.keys())
      }`;
      problems.push({ pointer: pointer("parameters", name), detail });
    }
  }
  const values = new Map<string, ParameterValue>();
  for (const [name, parameter] of step.parameters) {
    const isGiven = Object.hasOwn(given, name) && given[name] !== undefined;
    const value = isGiven ? givenValue(parameter, given[name], problems) : defaultOf(parameter);
    if (value !== undefined) values.set(name, value);
    else if (!parameter.optional && (!isGiven || given[name] === null)) {
      const detail = `its parameter "${name}" has no value`;
      problems.push({ pointer: pointer("parameters", name), detail });
    }
  }
  return values;
}

function givenValue(
  parameter: Parameter,
  given: unknown,
  problems: Problem[],
): ParameterValue | undefined {
  if (given === null) return undefined;
  const checked = checkValue(parameter, given);
  if ("value" in checked) return checked.value;
  const detail = `its parameter "${parameter.name}" cannot take this value: ${checked.problem}`;
  problems.push({ pointer: pointer("parameters", parameter.name), detail });
  return undefined;
}

/** Returns the default of a parameter. A flag has none: it is passed only if a launch sets it. */
function defaultOf(parameter: Parameter): ParameterValue | undefined {
  return parameter.type === "flag" ? undefined : parameter.default;
}

function inputFiles(
  step: Step,
  { inputs: given = {}, appended }: LaunchOptions,
  values: ReadonlyMap<string, ParameterValue>,
  budget: PlaceholderBudget,
  problems: Problem[],
): Record<string, InputFile[]> {
  for (const name of Object.keys(given)) {
    if (!step.inputs.has(name)) {
      const detail = `it has no input "${name}"; its inputs are ${quotedList(step.inputs.keys())}`;
      problems.push({ pointer: pointer("inputs", name), detail });
    }
  }
  const files: [string, InputFile[]][] = [];
  for (const input of step.inputs.values()) {
    const brought = Object.hasOwn(given, input.name) ? given[input.name] : undefined;
    const keepsDefaults = brought === undefined || appended?.has(input.name) === true;
    const defaults = keepsDefaults ? defaultFiles(input, step.parameters, values, budget) : [];
    const all = [...defaults, ...brought ?? []];
    if (all.length > 0) files.push([input.name, named(input, all)]);
    else if (!input.optional) {
      const detail = `its input "${input.name}" has no file`;
      problems.push({ pointer: pointer("inputs", input.name), detail });
    }
  }
  return Object.fromEntries(files);
}

/**
 * Returns the default files of an input. A URL that is empty, or has a parameter without a value,
 * is left out.
 */
function defaultFiles(
  { defaults, keepDirectories }: Input,
  parameters: ReadonlyMap<string, Parameter>,
  values: ReadonlyMap<string, ParameterValue>,
  budget: PlaceholderBudget,
): InputFile[] {
  const isUnset = (name: string) => parameters.has(name) && !values.has(name);
  return defaults.filter((url) => !url.matchAll(PARAMETER).some(([, name = ""]) => isUnset(name)))
    .map((url) =>
      url.replace(
        PARAMETER,
        (all, name) => budget.spend([values.get(name) ?? all].flat().map(formatAtom).join()),
      )
    )
    .filter((url) => url !== "").map((url) => fileOfUrl(url, keepDirectories));
}

/** Makes the file of a URL. Its name is the last part of the URL's path, or all of it. */
export function fileOfUrl(url: string, keepDirectories: Input["keepDirectories"]): InputFile {
  const path = percentDecode(URL.parse(url)?.pathname ?? "");
  const whole = path.replace(/^\/+/, "");
  return { name: (keepDirectories === "full" ? whole : basename(whole)) || "file", url };
}

/** Gives a file the name that the step declares, if it is the only one. */
function named({ filename }: Input, files: readonly InputFile[]): InputFile[] {
  const [only, second] = files;
  if (filename === undefined || only === undefined || second !== undefined) return [...files];
  return [{ ...only, name: filename }];
}

function environmentOf(
  step: Step,
  { environment_variables: given = {} }: LaunchOptions,
  problems: Problem[],
): Record<string, string> {
  const values = new Map<string, string>();
  for (const variable of step.environmentVariables.values()) {
    const value = Object.hasOwn(given, variable.name) ? given[variable.name] : variable.default;
    if (value !== undefined) values.set(variable.name, value);
    else if (!variable.optional && variable.secret === undefined) {
      const detail = `its environment variable "${variable.name}" has no value`;
      problems.push({ pointer: pointer("environment_variables", variable.name), detail });
    }
  }
  for (const [name, value] of Object.entries(given)) {
    // A shell exports the variables, and would run what another name holds.
    if (!VARIABLE_NAME.test(name)) {
      const detail =
        `its environment variable "${name}" must have a name of letters, digits and underscores, no digit first`;
      problems.push({ pointer: pointer("environment_variables", name), detail });
    }
    // A variable of a process cannot have a NUL, and a shell would leave it out.
    if (value.includes("\0")) {
      const detail = `its environment variable "${name}" cannot take a value with NUL`;
      problems.push({ pointer: pointer("environment_variables", name), detail });
    }
    values.set(name, value);
  }
  return Object.fromEntries(values);
}

/** Returns the secrets of a step, by variable. A value that a launch brings is text, and replaces the secret. */
function secretsOf(
  { environmentVariables }: Step,
  { environment_variables: given = {} }: LaunchOptions,
): [variable: string, secret: ExecutionSecret][] {
  return [...environmentVariables.values()].flatMap(({ name, secret }) =>
    secret === undefined || Object.hasOwn(given, name) ? [] : [[name, secret]]
  );
}
