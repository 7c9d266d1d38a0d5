/**
 * Pipelines, as the project configuration file writes them.
 *
 * @module
 */
import { z } from "zod";
import { booleanSchema, ofWord } from "../boolean.ts";
import type { Pipeline } from "./pipeline.ts";
import { edgeSchema, type ReadEdge } from "./edge.ts";
import { nodeSchema, type ReadNode, readNode } from "./node.ts";
import { pipelineParameterSchema, type ReadParameter } from "./parameter.ts";

const NODES_MAX = 1_000;
const EDGES_MAX = 10_000;
const PARAMETERS_MAX = 1_000;

/** A pipeline as the project configuration file writes it. */
export const pipelineSchema = z.strictObject({
  name: z.string().min(1),
  // Counted first, so that a long list is one problem.
  nodes: z.array(z.unknown()).max(NODES_MAX).pipe(z.array(nodeSchema)),
  edges: z.array(z.unknown()).max(EDGES_MAX).pipe(z.array(edgeSchema)),
  parameters: z.array(z.unknown()).max(PARAMETERS_MAX).pipe(z.array(pipelineParameterSchema))
    .optional(),
  "reuse-executions": booleanSchema.optional(),
});

/**
 * What can be read of a pipeline part by part, so that what is wrong with one hides nothing of the
 * others. Lists are in the order in which they are written.
 */
export interface PipelineParts {
  name: string;
  /** Each with the name that it seems to have, even where it cannot be read. */
  nodes: { name: unknown; read: ReadNode | undefined }[];
  edges: (ReadEdge | undefined)[];
  parameters: (ReadParameter | undefined)[];
  reuseExecutions: boolean;
}

/** Reads the parts of a pipeline, whether its schema takes all of it or not. */
export function readParts(value: unknown): PipelineParts {
  const { name, nodes, edges, parameters, "reuse-executions": reuse } = Object(value);
  return {
    // Of another kind, its schema has refused it.
    name: typeof name === "string" ? name : "",
    nodes: listOf(nodes).map((node, index) => ({
      name: Object(node).name,
      read: index < NODES_MAX ? readNode(node) : undefined,
    })),
    edges: listOf(edges).slice(0, EDGES_MAX).map((edge) => edgeSchema.safeParse(edge).data),
    parameters: listOf(parameters).slice(0, PARAMETERS_MAX)
      .map((each) => pipelineParameterSchema.safeParse(each).data),
    reuseExecutions: ofWord(reuse) === true,
  };
}

/** The pipeline that parts make. */
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
