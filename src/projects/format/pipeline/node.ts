/**
 * The nodes of a pipeline, as the project configuration file writes them.
 *
 * @module
 */
import { z } from "zod";
import { prefixed, type Problem } from "../../../platform/errors.ts";
import { refuseField } from "../../../platform/schema/schema.ts";
import { overrideSchema } from "../step/override.ts";
import type { PipelineNode } from "./pipeline.ts";
import { nodeActionSchema } from "./action.ts";

export interface ReadNode {
  node: PipelineNode;
  /** The task that it runs in place of a step. */
  task: string | undefined;
  /** Warnings about the node itself, with pointers into it. */
  warnings: Problem[];
}

const common = {
  name: z.string().min(1),
  actions: z.array(nodeActionSchema).default([]),
};

const executionLike = {
  ...common,
  commit: z.string().optional(),
  override: overrideSchema.optional(),
  "on-error": z.enum(["stop-all", "stop-next", "continue", "retry"]).default("stop-all"),
  "edge-merge-mode": z.enum(["replace", "append"]).default("replace"),
};

const executionSchema = z.strictObject({
  ...executionLike,
  type: z.literal("execution"),
  step: z.string(),
});

const taskSchema = z.strictObject({
  ...executionLike,
  type: z.literal("task"),
  step: z.string().optional(),
  task: z.string().optional(),
}).superRefine(({ step, task }, context) => {
  if ((step === undefined) !== (task === undefined)) return;
  const field = step === undefined ? "step" : "task";
  refuseField(context, [field], "Expected a step or a task, one of the two");
});

const deploymentSchema = z.strictObject({
  ...common,
  type: z.literal("deployment"),
  deployment: z.string(),
  endpoints: z.array(z.string()).optional(),
  aliases: z.array(z.string()).optional(),
  "on-error": z.enum(["stop-all", "stop-next", "continue"]).default("stop-all"),
});

export const nodeSchema = z.discriminatedUnion("type", [
  executionSchema,
  taskSchema,
  deploymentSchema,
]);

/** Reads a node; returns undefined if it is not valid. */
export function readNode(value: unknown): ReadNode | undefined {
  const result = nodeSchema.safeParse(value);
  if (!result.success) return undefined;
  const read = result.data;
  const problems = read.actions.flatMap(({ problems }) => problems);
  const isDeployment = read.type === "deployment";
  return {
    node: {
      name: read.name,
      type: read.type,
      step: isDeployment ? undefined : read.step,
      commit: isDeployment ? undefined : read.commit || undefined,
      override: isDeployment ? {} : Object(value).override ?? {},
      actions: read.actions.flatMap(({ actions }) => actions),
      ...problems.length > 0 ? { actionProblems: problems } : {},
      onError: read["on-error"],
      edgeMergeMode: isDeployment ? "replace" : read["edge-merge-mode"],
    },
    task: read.type === "task" ? read.task : undefined,
    warnings: read.actions.flatMap(({ warnings }, index) =>
      prefixed(`/actions/${index}`, warnings)
    ),
  };
}
