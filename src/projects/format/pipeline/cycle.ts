/**
 * Cycles of a pipeline: no order of its nodes fits their edges.
 *
 * @module
 */

/** The nodes of an edge. */
interface Ends {
  source: { node: string };
  target: { node: string };
}

/**
 * Returns the names of the nodes that are in a cycle, or between two cycles, in the order of the
 * edges; empty if the pipeline has no cycle.
 */
export function nodesInCycles(edges: readonly Ends[]): Set<string> {
  const hops = edges.map(({ source, target }): Hop => [source.node, target.node]);
  const backwards = withoutBeginnings(hops).map(([from, to]): Hop => [to, from]);
  return new Set(withoutBeginnings(backwards).flatMap(([to, from]) => [from, to]));
}

type Hop = [from: string, to: string];

/** Removes hops that nothing leads to, until none is left of them. */
function withoutBeginnings(hops: readonly Hop[]): Hop[] {
  const following = Map.groupBy(hops, ([from]) => from);
  const leadingTo = new Map<string, number>();
  for (const [, to] of hops) leadingTo.set(to, (leadingTo.get(to) ?? 0) + 1);
  const free = [...following.keys()].filter((name) => !leadingTo.has(name));
  const removed = new Set<string>();
  for (const name of free) {
    removed.add(name);
    for (const [, to] of following.get(name) ?? []) {
      const count = (leadingTo.get(to) ?? 0) - 1;
      leadingTo.set(to, count);
      if (count === 0) free.push(to);
    }
  }
  return hops.filter(([from]) => !removed.has(from));
}
