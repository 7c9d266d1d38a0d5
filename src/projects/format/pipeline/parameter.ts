/**
 * The parameters of a pipeline, as the project configuration file writes them.
 *
 * @module
 */
import { z } from "zod";
import type { PipelineParameter } from "./pipeline.ts";
import { partsOfEnd } from "./edge.ts";

export interface ReadParameter {
  parameter: PipelineParameter;
  /** Pointers to its targets, within the parameter. */
  places: string[];
}

const TARGETS_MAX = 1_000;

/** Other readers of the format take any type that begins with "parameter". */
const targetSchema = z.string().transform((text, context) => {
  const parts = partsOfEnd(text);
  if (parts?.type.startsWith("parameter")) return { node: parts.node, parameter: parts.key };
  const message = 'Expected a parameter of a node, as in "node.parameter.name"';
  context.issues.push({ code: "custom", input: text, message });
  return z.NEVER;
});

export const pipelineParameterSchema = z.strictObject({
  name: z.string().min(1),
  default: z.unknown().optional(),
  description: z.string().optional(),
  category: z.string().optional(),
  target: targetSchema.optional(),
  targets: z.union([
    targetSchema,
    // The length is checked first, so that a long list is one problem.
    z.array(z.unknown()).max(TARGETS_MAX).pipe(z.array(targetSchema)),
  ]).optional(),
}).superRefine(({ target, targets }, context) => {
  if (target === undefined || targets === undefined) return;
  const message = "Expected target or targets, one of the two";
  context.addIssue({ code: "custom", input: undefined, path: ["target"], message });
}).transform(({ name, default: written, target, targets }): ReadParameter => {
  const all = targets ?? target ?? [];
  const at = targets ? "/targets" : "/target";
  return {
    parameter: { name, default: written ?? undefined, targets: [all].flat() },
    places: Array.isArray(all) ? all.map((_, index) => `${at}/${index}`) : [at],
  };
});
