/**
 * The order of a pipeline's nodes, which its edges make.
 *
 * @module
 */
import { quotedList } from "../platform/text/display.ts";
import { nodesInCycles } from "../projects/mod.ts";
import type { PipelinePlan } from "../store/records/pipelines.ts";

/** The names of the nodes that a node waits for, each once. */
export function nodesBefore({ edges }: PipelinePlan, name: string): string[] {
  const before = edges.filter(({ target }) => target.node === name).map(({ source }) =>
    source.node
  );
  return [...new Set(before)];
}

/** What is wrong with the order: nodes that wait for one another. */
export function checkOrder({ edges }: PipelinePlan): string[] {
  const circle = nodesInCycles(edges);
  if (circle.size === 0) return [];
  return [`its nodes wait for one another in a cycle: ${quotedList(circle)}`];
}
