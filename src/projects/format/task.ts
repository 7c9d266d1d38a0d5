/**
 * Tasks, which run a step many times with different parameters. They are validated, so that a file
 * is valid here if it is valid elsewhere; Hooklaunch does not run them.
 *
 * @module
 */
import { z } from "zod";
import type { Problem } from "../../platform/errors.ts";
import { refuseField } from "../../platform/schema/schema.ts";
import { booleanSchema, expressionSchema } from "./fields.ts";

import { quotedList } from "../../platform/text/display.ts";

export interface Task {
  name: string;
  /** The step that it runs. */
  step: string;
}

const TYPES = ["grid_search", "random_search", "manual_search", "bayesian_tpe", "distributed"];
const CHILD_ERRORS = ["continue-and-complete", "continue-and-error", "stop-all-and-error"];
/** Fields of one type only. */
const BAYESIAN_FIELDS = ["engine", "optimization-target-metric", "optimization-target-value"];

const variantSchema = z.strictObject({
  name: z.string(),
  style: z.enum(["linear", "logspace", "multiple", "random", "single"]),
  rules: z.strictObject({
    base: z.number().optional(),
    count: z.number().optional(),
    distribution: z.string().optional(),
    end: z.number().optional(),
    integerify: booleanSchema.optional(),
    items: z.array(z.union([z.number(), z.string(), z.boolean()])).optional(),
    max: z.number().optional(),
    min: z.number().optional(),
    numberify: booleanSchema.optional(),
    seed: z.number().optional(),
    start: z.number().optional(),
    step: z.number().optional(),
    value: z.number().optional(),
  }),
});

const fields = z.strictObject({
  name: z.string(),
  step: z.string(),
  description: z.string().optional(),
  type: z.string().refine((type) => type === "" || TYPES.includes(normalType(type)), {
    error: `Expected one of ${quotedList(TYPES)}`,
  }).optional(),
  parameters: z.array(variantSchema).optional(),
  "parameter-sets": z.array(z.record(z.string(), z.unknown())).optional(),
  "execution-count": z.int().optional(),
  "execution-batch-size": z.int().optional(),
  "maximum-queued-executions": z.int().optional(),
  "optimization-target-metric": z.string().optional(),
  "optimization-target-value": z.number().optional(),
  engine: z.string().optional(),
  "on-child-error": z.string().refine(
    (text) => text === "" || CHILD_ERRORS.includes(text.toLowerCase().replaceAll("_", "-")),
    { error: `Expected one of ${quotedList(CHILD_ERRORS)}` },
  ).optional(),
  "stop-condition": expressionSchema.optional(),
  "reuse-children": booleanSchema.optional(),
});

export const taskSchema = fields.superRefine((written, context) => {
  if (written.parameters !== undefined || written["parameter-sets"] !== undefined) return;
  refuseField(context, ["parameters"], "Expected parameters or parameter-sets");
}).transform(({ name, step }): Task => ({ name, step }));

/**
 * Returns warnings about a task, with pointers into it.
 *
 * @param written its fields, as in the file
 */
export function taskWarnings(written: Readonly<Record<string, unknown>>): Problem[] {
  const type = normalType(String(written.type || "grid_search"));
  const warnings: Problem[] = [];
  const sets = written["parameter-sets"];
  if (type !== "manual_search" && Array.isArray(sets) && sets.length > 0) {
    const detail = "Has no effect: only a task of type manual_search has parameter sets";
    warnings.push({ pointer: "/parameter-sets", detail });
  }
  for (const field of BAYESIAN_FIELDS) {
    if (type === "bayesian_tpe" || written[field] === undefined) continue;
    const detail = "Has no effect: it is for tasks of type bayesian_tpe";
    warnings.push({ pointer: `/${field}`, detail });
  }
  return warnings;
}

/** Normalizes a type: it is written in any case, with hyphens or underscores. */
function normalType(type: string): string {
  return type.toLowerCase().replaceAll("-", "_");
}
