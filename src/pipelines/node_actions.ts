/**
 * The actions of nodes: what follows at a moment of a node's life.
 *
 * @module
 */
import { evaluate, type NodeAction, parseExpression } from "../projects/mod.ts";
import type { Execution } from "../store/records/executions.ts";
import type { PlannedNode } from "../store/records/pipelines.ts";

/** A moment of a node's life. */
export type Moment = NodeAction["when"];

/**
 * What follows at a moment: the effects of all actions whose conditions hold.
 *
 * @param scope what conditions may ask for
 */
export function whatFollows(
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
