/**
 * A pipeline, as the project configuration file declares it.
 *
 * @module
 */

/** A declared pipeline. Parts are in the order of the file. */
export interface Pipeline {
  name: string;
  nodes: Map<string, PipelineNode>;
  edges: PipelineEdge[];
  parameters: Map<string, PipelineParameter>;
  /** Whether a node may take an execution that has done the same before. */
  reuseExecutions: boolean;
}

/** A declared node. */
export interface PipelineNode {
  name: string;
  type: "execution" | "task" | "deployment";
  /** The step that it runs; only nodes of type execution can be launched. */
  step: string | undefined;
  /** A branch, tag or hash in place of the pipeline's commit. */
  commit: string | undefined;
  /** What it changes of its step, as it is written. */
  override: Readonly<Record<string, unknown>>;
  actions: NodeAction[];
  onError: OnError;
  edgeMergeMode: "replace" | "append";
}

/** What becomes of a pipeline when a node of it fails. */
export type OnError = "stop-all" | "stop-next" | "continue" | "retry";

/** Something that is done at a moment of a node's life when its conditions hold. */
export interface NodeAction {
  when: "node-starting" | "node-complete" | "node-error";
  /** Such as `metadata.accuracy < 0.8`; all must hold. */
  if: string[];
  then: NodeEffect;
}

/** What an action of a node does. */
export type NodeEffect = "noop" | "stop-pipeline" | "error-pipeline" | "require-approval";

/** What an edge carries. */
export type EdgeType =
  | "dependency"
  | "deployment"
  | "environment-variable"
  | "file"
  | "input"
  | "metadata"
  | "output"
  | "parameter";

/** One end of an edge: `node.type.key`. */
export interface EdgeEnd {
  node: string;
  type: EdgeType;
  key: string;
}

/** A declared edge. */
export interface PipelineEdge {
  source: EdgeEnd;
  target: EdgeEnd;
}

/** A declared parameter of a pipeline. */
export interface PipelineParameter {
  name: string;
  /** What its targets get unless a launch says otherwise; they keep their own default when undefined. */
  default: unknown;
  targets: { node: string; parameter: string }[];
}
