/**
 * A step, as the project configuration file declares it.
 *
 * @module
 */
import { z } from "zod";
import { prefixed, type Problem } from "../../../platform/errors.ts";
import { parseWith, refuseField } from "../../../platform/schema/schema.ts";
import type { Mount, Resources } from "../../../store/records/executions.ts";
import { booleanSchema, durationSchema, expressionSchema, textListSchema } from "../fields.ts";
import { quoteWarnings } from "../command/quotes.ts";
import {
  type EnvironmentVariable,
  environmentVariableSchema,
  type Input,
  inputSchema,
} from "./input.ts";
import { type Parameter, parameterSchema, parameterWarnings } from "./parameter.ts";
import { placeholderWarnings } from "../command/placeholders.ts";
import { mountSchema, resourcesSchema } from "./requirements.ts";
import { defaultWarnings } from "./secret_reference.ts";

/** A step: the fields that decide how an execution runs. Parts are in the order of the file. */
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
  /** The value of `{source-path}` in a command. */
  sourcePath: string | undefined;
  /** The most that an execution may use. */
  resources: Resources | undefined;
  /** A lost execution is started again. */
  autorestart: boolean;
  mounts: Mount[];
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
  mounts: written.mounts ?? [],
}));

/** Reads {@linkcode Step.written} of a step again, such as one that a pipeline keeps. */
export function stepOf(written: Readonly<Record<string, unknown>>): Step {
  return { ...parseWith(stepSchema, written, "the step"), written };
}

/** Returns the limits of a step: the most that it asks for, or else the least. */
function limitsOf(written: z.infer<typeof resourcesSchema> | undefined): Resources | undefined {
  const cpu = written?.cpu?.max ?? written?.cpu?.min;
  const memory = written?.memory?.max ?? written?.memory?.min;
  const devices = written?.devices;
  const limits: Resources = {
    ...(cpu === undefined ? {} : { cpu }),
    ...(memory === undefined ? {} : { memory }),
    ...(devices === undefined ? {} : { devices }),
  };
  return Object.keys(limits).length > 0 ? limits : undefined;
}

/** Returns warnings about a step, with pointers into it. */
export function stepWarnings({ parameters, written }: Step): Problem[] {
  const warnings: Problem[] = [];
  for (const list of ["parameters", "inputs", "environment-variables"]) {
    const seen = new Set<unknown>();
    for (const [index, item] of itemsOf(written[list]).entries()) {
      const at = `/${list}/${index}`;
      if (seen.has(item.name)) {
        const detail = `Another item above has the name "${item.name}": this one replaces it`;
        warnings.push({ pointer: `${at}/name`, detail });
      }
      seen.add(item.name);
      if (list !== "inputs") {
        warnings.push(...prefixed(at, defaultWarnings(list, item.default)));
      }
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
 * Returns warnings about the commands and the URLs of inputs of a step or an override, with
 * pointers into it.
 *
 * @param written its valid fields, as in the file
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

/** The last item of a name stays, at the place of the first. */
function byName<T extends { name: string }>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.name, item]));
}

/**
 * Returns the items of a list of a step or an override as they are written; none if the list is
 * absent.
 */
export function itemsOf(list: unknown): Record<string, unknown>[] {
  // The schemas of steps and overrides accept nothing but lists of objects.
  return Array.isArray(list) ? list as Record<string, unknown>[] : [];
}
