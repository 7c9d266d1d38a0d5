/**
 * What operators can do with a pipeline that is under way.
 *
 * @module
 */

/** Stops pipelines and lets those go on that wait for an operator. */
export interface PipelineControl {
  /**
   * Stops a pipeline: its running nodes are stopped, the others are not started. Resolves when that is
   * on disk; the pipeline is `stopping` until its executions have ended.
   *
   * @returns false when it had ended already, or is not known
   */
  stop(pipelineId: string): Promise<boolean>;
  /**
   * Lets nodes go on that wait for approval. Resolves when that is on disk.
   *
   * @param node the only node that is approved; all that wait when absent
   * @returns the names of the nodes that were approved; empty when none waits
   */
  approve(pipelineId: string, node?: string): Promise<string[]>;
}
