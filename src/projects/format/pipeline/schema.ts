/**
 * Pipelines, as the project configuration file writes them.
 *
 * @module
 */
import { z } from "zod";
import { booleanOfWord, booleanSchema } from "../fields.ts";
import type { Pipeline } from "./pipeline.ts";
import { edgeSchema, type ReadEdge } from "./edge.ts";
import { nodeSchema, type ReadNode, readNode } from "./node.ts";
import { pipelineParameterSchema, type ReadParameter } from "./parameter.ts";

const NODES_MAX = 1_000;
const EDGES_MAX = 10_000;
const PARAMETERS_MAX = 1_000;

export const pipelineSchema = z.strictObject({
  name: z.string().min(1),
  // Lengths are checked first, so that a long list is one problem.
  nodes: z.array(z.unknown()).max(NODES_MAX).pipe(z.array(nodeSchema)),
  edges: z.array(z.unknown()).max(EDGES_MAX).pipe(z.array(edgeSchema)),
  parameters: z.array(z.unknown()).max(PARAMETERS_MAX).pipe(z.array(pipelineParameterSchema))
    .optional(),
  "reuse-executions": booleanSchema.optional(),
});

/** The parts of a pipeline. One that is not valid hides no problem of the others. */
export interface PipelineParts {
  name: string;
  /** Each has the name that is written, even if it is not valid. */
  nodes: { name: unknown; read: ReadNode | undefined }[];
  edges: (ReadEdge | undefined)[];
  parameters: (ReadParameter | undefined)[];
  reuseExecutions: boolean;
}

/** Reads the parts of a pipeline, also of one that is not valid. */
export function readParts(value: unknown): PipelineParts {
  const { name, nodes, edges, parameters, "reuse-executions": reuse } = Object(value);
  return {
    // The schema refuses every other type.
    name: typeof name === "string" ? name : "",
    nodes: listOf(nodes).map((node, index) => ({
      name: Object(node).name,
      read: index < NODES_MAX ? readNode(node) : undefined,
    })),
    edges: listOf(edges).slice(0, EDGES_MAX).map((edge) => edgeSchema.safeParse(edge).data),
    parameters: listOf(parameters).slice(0, PARAMETERS_MAX)
      .map((each) => pipelineParameterSchema.safeParse(each).data),
    reuseExecutions: booleanOfWord(reuse) === true,
  };
}

/** Makes a pipeline of its parts. */
export function pipelineOf({ name, nodes, edges, parameters, reuseExecutions }: PipelineParts) {
  const pipeline: Pipeline = {
    name,
    nodes: new Map(),
    edges: edges.flatMap((read) => read ? [read.edge] : []),
    parameters: new Map(),
    reuseExecutions,
  };
  for (const { read } of nodes) if (read) pipeline.nodes.set(read.node.name, read.node);
  for (const read of parameters) {
    if (read) pipeline.parameters.set(read.parameter.name, read.parameter);
  }
  return pipeline;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
