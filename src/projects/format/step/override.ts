/**
 * Overrides: the changes that a node of a pipeline makes to its step.
 *
 * @module
 */
import { z } from "zod";
import { ActionError, prefixed, type Problem } from "../../../platform/errors.ts";
import { validate } from "../../../platform/schema/schema.ts";
import { pointer } from "../../../platform/schema/pointer.ts";
import { booleanSchema, textListSchema } from "../fields.ts";
import { environmentVariableSchema, inputSchema } from "./input.ts";
import {
  type Parameter,
  parameterFieldsSchema,
  parameterSchema,
  parameterWarnings,
} from "./parameter.ts";
import { firstQuoted } from "../../../platform/text/display.ts";
import { mountSchema } from "./requirements.ts";
import { defaultWarnings } from "./secret_reference.ts";
import { itemsOf, type Step, stepSchema, textWarnings } from "./step.ts";

/** An override, as it is written. */
type Override = Readonly<Record<string, unknown>>;

/** Lists whose items are merged by name. Every other field is replaced as a whole. */
const NAMED_LISTS = ["inputs", "parameters", "environment-variables"];

/** The schema of an override. An item needs only its name. */
export const overrideSchema = z.strictObject({
  command: textListSchema.optional(),
  image: z.string().optional(),
  environment: z.string().optional(),
  autorestart: booleanSchema.optional(),
  "runtime-config-preset": z.string().optional(),
  inputs: z.array(inputSchema).optional(),
  parameters: z.array(parameterFieldsSchema).optional(),
  "environment-variables": z.array(environmentVariableSchema).optional(),
  mounts: z.array(mountSchema).optional(),
}, {
  error: ({ code }) =>
    code === "unrecognized_keys"
      ? "Not a field that a node can override: it may belong below inputs or parameters"
      : undefined,
});

/**
 * Merges an override into a step. Inputs, parameters and environment variables are merged by name,
 * and new ones come last. The default files of an input are those of the override, or none. Every
 * other field is replaced, unless the override leaves it empty.
 *
 * @returns the fields of the merged step, which `stepOf` reads
 * @throws {ActionError} when they are not valid
 */
export function overrideStep(step: Step, override: Override): Record<string, unknown> {
  const merged = mergeInto(step, override);
  const result = validate(stepSchema, merged);
  if ("data" in result) return merged;
  const details = result.problems.map((problem) => `${problem.pointer}: ${problem.detail}`);
  throw new ActionError(`Cannot override step "${step.name}": ${details.join("; ")}`);
}

/** Returns the problems of a valid override with its step, with pointers into the override. */
export function overrideProblems(step: Step, override: Override): Problem[] {
  const problems: Problem[] = [];
  for (const [index, { name }] of itemsOf(override.inputs).entries()) {
    if (!step.inputs.has(String(name))) {
      problems.push(undeclared("inputs", index, name, step.inputs));
    }
  }
  for (const [index, { name, result }] of mergedParameters(step, override).entries()) {
    const at = pointer("parameters", index);
    if (result === undefined) {
      problems.push(undeclared("parameters", index, name, step.parameters));
    } else if ("problems" in result) {
      problems.push(
        ...result.problems.map((problem) => ({
          pointer: at + problem.pointer,
          detail: `Over the parameter of step "${step.name}": ${problem.detail}`,
        })),
      );
    }
  }
  if (override["runtime-config-preset"] && !override.environment) {
    const detail = "Expected an environment beside the preset, in the override itself";
    problems.push({ pointer: pointer("runtime-config-preset"), detail });
  }
  return problems;
}

/** Returns warnings about an override of a step, with pointers into the override. */
export function overrideWarnings(step: Step, override: Override): Problem[] {
  const ofParameters = mergedParameters(step, override).flatMap(({ item, result }, index) => {
    if (result === undefined || "problems" in result) return [];
    // The step has warnings of its own fields.
    const warnings = parameterWarnings(result.data, item)
      .filter((warning) => Object.hasOwn(item, warning.pointer.slice(1)));
    return prefixed(pointer("parameters", index), warnings);
  });
  const ofDefaults = ["parameters", "environment-variables"].flatMap((list) =>
    itemsOf(override[list]).flatMap((item, index) =>
      prefixed(pointer(list, index), defaultWarnings(list, item.default))
    )
  );
  return [...ofParameters, ...ofDefaults, ...textWarnings(override, step.parameters)];
}

/** Returns the parameters that a valid override changes, by name. */
export function overriddenParameters(step: Step, override: Override): Map<string, Parameter> {
  const parameters = new Map<string, Parameter>();
  for (const { name, result } of mergedParameters(step, override)) {
    if (result && "data" in result) parameters.set(String(name), result.data);
  }
  return parameters;
}

/**
 * Merges the parameters of an override with those of the step. The fields of a parameter depend on
 * one another. Other items are valid when both sides are.
 */
function mergedParameters(step: Step, override: Override) {
  const declared = itemsOf(step.written.parameters);
  const seen = new Map<unknown, Record<string, unknown>>();
  return itemsOf(override.parameters).map((item) => {
    const { name } = item;
    if (!step.parameters.has(String(name))) return { name, item, result: undefined };
    const under = seen.get(name) ?? declared.findLast((each) => each.name === name);
    const merged = { ...under, ...item };
    seen.set(name, merged);
    return { name, item, result: validate(parameterSchema, merged) };
  });
}

function undeclared(
  list: string,
  index: number,
  name: unknown,
  declared: ReadonlyMap<string, unknown>,
): Problem {
  const detail = `Expected one of the ${list} of the step, which are ` +
    `${firstQuoted(declared)}; found "${name}"`;
  return { pointer: pointer(list, index, "name"), detail };
}

function mergeInto(step: Step, override: Override): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...step.written };
  for (const [field, value] of Object.entries(override)) {
    if (NAMED_LISTS.includes(field)) merged[field] = mergeByName(field, merged[field], value);
    else if (!isEmpty(value)) merged[field] = value;
  }
  return merged;
}

function mergeByName(field: string, declared: unknown, overriding: unknown) {
  const merged = new Map(itemsOf(declared).map((item) => [item.name, item]));
  const named = new Set<unknown>();
  for (const item of itemsOf(overriding)) {
    const under = { ...merged.get(item.name) };
    // An override that names an input without files leaves it those that edges bring.
    if (field === "inputs" && !named.has(item.name)) delete under.default;
    merged.set(item.name, { ...under, ...item });
    named.add(item.name);
  }
  return [...merged.values()];
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === "" ||
    (Array.isArray(value) && value.length === 0);
}
