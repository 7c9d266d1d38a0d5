/**
 * The edges of a pipeline, as the project configuration file writes them: `[source, target]` or an
 * object, each end `node.type.key`.
 *
 * @module
 */
import { z } from "zod";
import type { Problem } from "../../../platform/errors.ts";
import type { EdgeEnd, EdgeType, PipelineEdge } from "./pipeline.ts";

export interface ReadEdge {
  edge: PipelineEdge;
  /** Pointers to its ends, within the edge. */
  places: { source: string; target: string };
  /** Warnings about the edge itself, with pointers into it. */
  warnings: Problem[];
}

/** The types, each with its plural. */
const TYPES: ReadonlyMap<EdgeType, string> = new Map([
  ["dependency", "dependencies"],
  ["deployment", "deployments"],
  ["environment-variable", "environment-variables"],
  ["file", "files"],
  ["input", "inputs"],
  ["metadata", "metadata"],
  ["output", "outputs"],
  ["parameter", "parameters"],
]);

/** Splits `node.type.key` at the first two dots: a key may have dots. */
export function partsOfEnd(text: string): { node: string; type: string; key: string } | undefined {
  const [, node, type, key] = text.match(/^([^.]+)\.([^.]+)\.(.+)$/s) ?? [];
  return node === undefined || type === undefined || key === undefined
    ? undefined
    : { node, type, key };
}

const endSchema = z.string().transform((text, context): { end: EdgeEnd; plural?: string } => {
  const parts = partsOfEnd(text);
  const message = parts === undefined
    ? 'Expected "node.type.key"'
    : `Expected "node.type.key" with one of the types ${[...TYPES.keys()].join(", ")}`;
  for (const [type, plural] of TYPES) {
    if (parts?.type === type) return { end: { ...parts, type } };
    if (parts?.type === plural) return { end: { ...parts, type }, plural };
  }
  context.issues.push({ code: "custom", input: text, message });
  return z.NEVER;
});

const shortSchema = z.array(z.unknown()).refine(({ length }) => length === 2, {
  error: "Expected two ends, as in [source, target]",
  abort: true,
}).pipe(z.tuple([endSchema, endSchema])).transform(([source, target]) => ({ source, target }));

const fullSchema = z.strictObject({
  source: endSchema,
  target: endSchema,
  configuration: z.record(z.string(), z.unknown()).optional(),
});

export const edgeSchema = z.unknown().transform((value, context): ReadEdge => {
  const isShort = Array.isArray(value);
  const result = (isShort ? shortSchema : fullSchema).safeParse(value, { reportInput: true });
  if (!result.success) {
    // Reported issues have all fields of raw ones, among them the input.
    for (const issue of result.error.issues as z.core.$ZodRawIssue[]) context.issues.push(issue);
    return z.NEVER;
  }
  const { source, target } = result.data;
  const places = isShort ? { source: "/0", target: "/1" } : {
    source: "/source",
    target: "/target",
  };
  const warnings = [{ ...source, pointer: places.source }, { ...target, pointer: places.target }]
    .filter(({ plural }) => plural !== undefined)
    .map(({ pointer, plural, end: { type } }) => ({
      pointer,
      detail: `The type "${plural}" is taken for "${type}", which the format knows`,
    }));
  return { edge: { source: source.end, target: target.end }, places, warnings };
});
