/**
 * The parameters of a pipeline, as the project configuration file writes them.
 *
 * @module
 */
import { z } from "zod";
import type { PipelineParameter } from "./pipeline.ts";
import { partsOfEnd } from "./pipeline_edge.ts";

/** What was read of a parameter. */
export interface ReadParameter {
  parameter: PipelineParameter;
  /** Pointers to its targets, relative to it. */
  places: string[];
}

const TARGETS_MAX = 1_000;
const EXPECTED = 'Expected a parameter of a node, as in "node.parameter.name"';

interface Target {
  node: string;
  parameter: string;
  path: number[];
}

const targetSchema = z.string().transform((text, context): Target[] => {
  const target = targetOf(text, []);
  if (target) return [target];
  context.issues.push({ code: "custom", input: text, message: EXPECTED });
  return z.NEVER;
});

const targetsSchema = z.unknown().transform((value, context): Target[] => {
  const targets: Target[] = [];
  if (Array.isArray(value) && value.length > TARGETS_MAX) {
    const message = `Expected at most ${TARGETS_MAX} targets`;
    context.issues.push({ code: "custom", input: value, message });
    return z.NEVER;
  }
  for (const [index, text] of (Array.isArray(value) ? value : [value]).entries()) {
    const path = Array.isArray(value) ? [index] : [];
    const target = typeof text === "string" ? targetOf(text, path) : undefined;
    if (target) targets.push(target);
    else context.issues.push({ code: "custom", input: text, path, message: EXPECTED });
  }
  return targets;
});

/** A parameter as the project configuration file writes it. */
export const pipelineParameterSchema = z.strictObject({
  name: z.string().min(1),
  default: z.unknown().optional(),
  description: z.string().optional(),
  category: z.string().optional(),
  target: targetSchema.optional(),
  targets: targetsSchema.optional(),
}).superRefine(({ target, targets }, context) => {
  if (target === undefined || targets === undefined) return;
  const message = "Expected target or targets, one of the two";
  context.addIssue({ code: "custom", input: undefined, path: ["target"], message });
}).transform(({ name, default: written, target, targets }): ReadParameter => {
  const field = targets ? "targets" : "target";
  const all = targets ?? target ?? [];
  return {
    parameter: {
      name,
      default: written ?? undefined,
      targets: all.map(({ node, parameter }) => ({ node, parameter })),
    },
    places: all.map(({ path }) => ["", field, ...path].join("/")),
  };
});

/** Any type that begins with "parameter" is taken, as elsewhere. */
function targetOf(text: string, path: number[]): Target | undefined {
  const parts = partsOfEnd(text);
  return parts?.type.startsWith("parameter")
    ? { node: parts.node, parameter: parts.key, path }
    : undefined;
}
