/**
 * A launch of a step: from what the project configuration file declares and what an action brings to
 * what an execution is made of.
 *
 * @module
 */
import { ActionError } from "../errors.ts";
import { buildScript } from "./command.ts";
import { findStep, type ProjectConfig } from "./config_file.ts";
import type { Input } from "./input.ts";
import { checkValue, type Parameter, type ParameterValue } from "./parameter.ts";
import type { Step } from "./step.ts";

/** What an action brings to a launch. */
export interface LaunchOptions {
  /** Values in place of the parameters' defaults; null takes an optional parameter out. */
  parameters?: Readonly<Record<string, unknown>>;
  /** The name of the input that the payload becomes a file of, in place of its default files. */
  payloadInput?: string;
}

/** What an execution is made of. The fields are those of its record. */
export interface Launch {
  image: string;
  /** One script. */
  command: string;
  /** The values in effect. */
  parameters: Record<string, ParameterValue>;
  environment_variables: Record<string, string>;
  /** The input that takes the payload, and the name its file must have where one is declared. */
  payloadInput?: { name: string; filename?: string };
  /** Seconds. */
  time_limit?: number;
  /** Seconds. */
  no_output_timeout?: number;
}

/**
 * Resolves a launch of a step.
 *
 * @throws {ActionError} with everything that keeps it from running, such as an input that the step does
 * not declare
 */
export function launchStep(
  config: ProjectConfig,
  stepName: string,
  options: LaunchOptions = {},
): Launch {
  const step = findStep(config, stepName);
  const problems: string[] = [];
  const values = parameterValues(step, options.parameters ?? {}, problems);
  const payloadInput = inputFor(step, options.payloadInput, problems);
  const environment_variables = environmentOf(step, problems);
  if (problems.length > 0) {
    throw new ActionError(`Cannot run step "${step.name}": ${problems.join("; ")}`);
  }
  const command = buildScript(step.commands, {
    parameters: step.parameters,
    values,
    sourcePath: step.sourcePath,
  });
  return {
    image: step.image,
    command,
    parameters: Object.fromEntries(values),
    environment_variables,
    ...(payloadInput ? { payloadInput: fileOf(payloadInput) } : {}),
    ...(step.timeLimit_s === undefined ? {} : { time_limit: step.timeLimit_s }),
    ...(step.noOutputTimeout_s === undefined ? {} : { no_output_timeout: step.noOutputTimeout_s }),
  };
}

function fileOf({ name, filename }: Input): { name: string; filename?: string } {
  return filename === undefined ? { name } : { name, filename };
}

function parameterValues(
  step: Step,
  given: Readonly<Record<string, unknown>>,
  problems: string[],
): Map<string, ParameterValue> {
  for (const name of Object.keys(given)) {
    if (!step.parameters.has(name)) {
      problems.push(`it has no parameter "${name}"; its parameters are ${list(step.parameters)}`);
    }
  }
  const values = new Map<string, ParameterValue>();
  for (const [name, parameter] of step.parameters) {
    const isGiven = Object.hasOwn(given, name) && given[name] !== undefined;
    const value = isGiven ? givenValue(parameter, given[name], problems) : defaultOf(parameter);
    if (value !== undefined) values.set(name, value);
    else if (!parameter.optional && (!isGiven || given[name] === null)) {
      problems.push(`its parameter "${name}" has no value`);
    }
  }
  return values;
}

function givenValue(
  parameter: Parameter,
  given: unknown,
  problems: string[],
): ParameterValue | undefined {
  if (given === null) return undefined;
  const checked = checkValue(parameter, given);
  if ("value" in checked) return checked.value;
  problems.push(`its parameter "${parameter.name}" cannot take this value: ${checked.problem}`);
  return undefined;
}

/** A flag is passed only when a launch sets it, whatever its default. */
function defaultOf(parameter: Parameter): ParameterValue | undefined {
  return parameter.type === "flag" ? undefined : parameter.default;
}

function inputFor(
  step: Step,
  payloadInput: string | undefined,
  problems: string[],
): Input | undefined {
  const taking = payloadInput === undefined ? undefined : step.inputs.get(payloadInput);
  if (payloadInput !== undefined && taking === undefined) {
    problems.push(`it has no input "${payloadInput}"; its inputs are ${list(step.inputs)}`);
    return undefined;
  }
  for (const input of step.inputs.values()) {
    if (input === taking) continue;
    if (input.defaults.length > 0) {
      problems.push(
        `its input "${input.name}" has default files, and files are not fetched by this version ` +
          "of Hooklaunch: only the payload becomes an input",
      );
    } else if (!input.optional) problems.push(`its input "${input.name}" has no file`);
  }
  return taking;
}

function environmentOf(step: Step, problems: string[]): Record<string, string> {
  const values: [string, string][] = [];
  for (const variable of step.environmentVariables.values()) {
    if (variable.default !== undefined) values.push([variable.name, variable.default]);
    else if (!variable.optional) {
      problems.push(`its environment variable "${variable.name}" has no value`);
    }
  }
  return Object.fromEntries(values);
}

function list(names: ReadonlyMap<string, unknown>): string {
  return [...names.keys()].map((name) => `"${name}"`).join(", ") || "none";
}
