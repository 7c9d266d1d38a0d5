/**
 * A pipeline, as the project configuration file declares it.
 *
 * @module
 */

/** A pipeline. Parts are in the order of the file. */
export interface Pipeline {
  name: string;
  nodes: Map<string, PipelineNode>;
  edges: PipelineEdge[];
  parameters: Map<string, PipelineParameter>;
  /** A node may reuse an earlier execution with the same inputs. */
  reuseExecutions: boolean;
}

export interface PipelineNode {
  name: string;
  type: "execution" | "task" | "deployment";
  /** The step that it runs; only nodes of type execution can be launched. */
  step: string | undefined;
  /** A branch, tag or hash in place of the pipeline's commit. */
  commit: string | undefined;
  /** Its changes to the step, as they are written. */
  override: Readonly<Record<string, unknown>>;
  actions: NodeAction[];
  /** The reasons for which an action cannot be performed, such as an unknown effect. A launch is refused. */
  actionProblems?: string[];
  onError: OnError;
  edgeMergeMode: "replace" | "append";
}

/** The effect of a failed node on its pipeline. */
type OnError = "stop-all" | "stop-next" | "continue" | "retry";

/** An effect at a moment of a node's life, if its conditions hold. */
export interface NodeAction {
  when: "node-starting" | "node-complete" | "node-error";
  /** Conditions such as `metadata.accuracy < 0.8`; all must hold. */
  if: string[];
  then: NodeEffect;
}

/** The effect of a node's action. */
export type NodeEffect = "noop" | "stop-pipeline" | "error-pipeline" | "require-approval";

/** The type of an end of an edge. */
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

export interface PipelineEdge {
  source: EdgeEnd;
  target: EdgeEnd;
}

export interface PipelineParameter {
  name: string;
  /**
   * The value that its targets get unless a launch sets another. If undefined, they keep their own
   * defaults.
   */
  default: unknown;
  targets: { node: string; parameter: string }[];
}
