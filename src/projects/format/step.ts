/**
 * A step, as the project configuration file declares it.
 *
 * @module
 */
import { z } from "zod";
import { prefixed, type Problem } from "../../platform/errors.ts";
import { parseWith, refuseField } from "../../platform/schema/schema.ts";
import type { Resources } from "../../store/records/executions.ts";
import { booleanSchema } from "./boolean.ts";
import { quoteWarnings } from "./command_quotes.ts";
import { durationSchema } from "./duration.ts";
import { expressionSchema } from "./expression_schema.ts";
import {
  type EnvironmentVariable,
  environmentVariableSchema,
  type Input,
  inputSchema,
} from "./input.ts";
import { type Parameter, parameterSchema, parameterWarnings } from "./parameter.ts";
import { placeholderWarnings } from "./placeholder_check.ts";
import { mountSchema, resourcesSchema } from "./requirements.ts";
import { textListSchema } from "./text_list.ts";

/** A declared step: what of it decides how an execution runs. Parts are in the order of the file. */
export interface Step {
  name: string;
  image: string;
  /** The commands, run one after the other. */
  commands: string[];
  parameters: Map<string, Parameter>;
  inputs: Map<string, Input>;
  environmentVariables: Map<string, EnvironmentVariable>;
  /** Seconds after which an execution is stopped. */
  timeLimit_s: number | undefined;
  /** Seconds without output after which an execution is stopped. */
  noOutputTimeout_s: number | undefined;
  /** An execution is stopped as soon as this condition holds for its metadata. */
  stopCondition: string | undefined;
  /** What `{source-path}` in a command stands for. */
  sourcePath: string | undefined;
  /** What an execution may use at most. */
  resources: Resources | undefined;
  /** Whether an execution is started again when it was lost. */
  autorestart: boolean;
  /** Whether it declares mounts. */
  needsMounts: boolean;
  /** The step as it is written. */
  written: Readonly<Record<string, unknown>>;
}

const fields = z.strictObject({
  name: z.string().min(1),
  image: z.string().min(1),
  command: textListSchema,
  description: z.string().optional(),
  category: z.string().optional(),
  icon: z.string().optional(),
  environment: z.string().optional(),
  autorestart: booleanSchema.optional(),
  "environment-variables": z.array(environmentVariableSchema).default([]),
  "environment-variable-groups": z.array(z.string()).optional(),
  inputs: z.array(inputSchema).default([]),
  outputs: z.array(z.strictObject({
    name: z.string(),
    description: z.string().optional(),
  })).optional(),
  parameters: z.array(parameterSchema).default([]),
  mounts: z.array(mountSchema).optional(),
  "cache-volumes": z.array(z.string()).optional(),
  "no-output-timeout": durationSchema.optional(),
  "time-limit": durationSchema.optional(),
  resources: resourcesSchema.optional(),
  "runtime-config-preset": z.string().optional(),
  "source-path": z.string().optional(),
  "stop-condition": expressionSchema.optional(),
  "upload-store": z.string().max(64).optional(),
});

/** A step of the project configuration file. */
export const stepSchema = fields.superRefine((written, context) => {
  if (written["runtime-config-preset"] !== undefined && written.environment === undefined) {
    refuseField(context, ["runtime-config-preset"], "Expected an environment beside the preset");
  }
}).transform((written): Omit<Step, "written"> => ({
  name: written.name,
  image: written.image,
  commands: written.command,
  parameters: byName(written.parameters),
  inputs: byName(written.inputs),
  environmentVariables: byName(written["environment-variables"]),
  timeLimit_s: written["time-limit"],
  noOutputTimeout_s: written["no-output-timeout"],
  stopCondition: written["stop-condition"],
  sourcePath: written["source-path"],
  resources: limitsOf(written.resources),
  autorestart: written.autorestart ?? false,
  needsMounts: (written.mounts ?? []).length > 0,
}));

/**
 * Reads a step that was read before, such as one that a pipeline keeps.
 *
 * @param written as {@linkcode Step.written}
 */
export function stepOf(written: Readonly<Record<string, unknown>>): Step {
  return { ...parseWith(stepSchema, written, "the step"), written };
}

/** A step asks for a least and a most; what it gets at most is the latter, or else the former. */
function limitsOf(written: z.infer<typeof resourcesSchema> | undefined): Resources | undefined {
  const cpu = written?.cpu?.max ?? written?.cpu?.min;
  const memory = written?.memory?.max ?? written?.memory?.min;
  if (cpu === undefined && memory === undefined) return undefined;
  return { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) };
}

/** What is odd about a step but keeps nothing from running, with pointers relative to it. */
export function stepWarnings({ parameters, written }: Step): Problem[] {
  const warnings: Problem[] = [];
  for (const list of ["parameters", "inputs", "environment-variables"]) {
    const seen = new Set<unknown>();
    for (const [index, item] of itemsOf(written[list]).entries()) {
      const at = `/${list}/${index}`;
      if (seen.has(item.name)) {
        const detail = `Another of the name "${item.name}" stands above: this one takes its place`;
        warnings.push({ pointer: `${at}/name`, detail });
      }
      seen.add(item.name);
      const parameter = parameters.get(String(item.name));
      if (list !== "parameters" || parameter === undefined) continue;
      for (const warning of prefixed(at, parameterWarnings(parameter, item))) {
        warnings.push(warning);
      }
    }
  }
  return [...warnings, ...textWarnings(written, parameters)];
}

/**
 * What is odd about the commands and the inputs' URLs of a step, or of what overrides one, with pointers
 * relative to it.
 *
 * @param written as the file has it, and as a schema takes it
 */
export function textWarnings(
  written: Readonly<Record<string, unknown>>,
  parameters: ReadonlyMap<string, Parameter>,
): Problem[] {
  const { command = [] } = written;
  const commands = textListSchema.parse(command);
  const isList = Array.isArray(command);
  return [
    ...quoteWarnings(commands, parameters)
      .map(({ pointer, detail }) => ({ pointer: `/command${isList ? pointer : ""}`, detail })),
    ...placeholderWarnings(command, "/command", parameters, ["parameter", "parameter-value"]),
    ...itemsOf(written.inputs).flatMap((input, index) =>
      placeholderWarnings(input.default, `/inputs/${index}/default`, parameters, ["parameter"])
    ),
  ];
}

/** The last of a name stands, at the place of the first. */
function byName<T extends { name: string }>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.name, item]));
}

/** The items of a field as it is written, of a step or of what overrides one; none when it is not there. */
export function itemsOf(list: unknown): Record<string, unknown>[] {
  // The schemas of steps and of overrides have checked that it is a list of objects.
  return Array.isArray(list) ? list as Record<string, unknown>[] : [];
}
