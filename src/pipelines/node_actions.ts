/**
 * The actions of nodes: their effects at a moment of a node's life.
 *
 * @module
 */
import { evaluate, type NodeAction, parseExpression } from "../projects/mod.ts";
import type { Execution } from "../store/records/executions.ts";
import type { PlannedNode } from "../store/records/pipelines.ts";

/** A moment of a node's life. */
export type Moment = NodeAction["when"];

/** Returns the effects of all actions of a moment whose conditions hold. */
export function effectsAt(
  actions: PlannedNode["actions"],
  moment: Moment,
  { metadata, parameters }: Pick<Execution, "metadata" | "parameters">,
): string[] {
  const scope = { metadata, parameter: parameters };
  return actions
    .filter((action) =>
      action.when === moment &&
      action.if.every((condition) => evaluate(parseExpression(condition), scope))
    )
    .map(({ then }) => then);
}
