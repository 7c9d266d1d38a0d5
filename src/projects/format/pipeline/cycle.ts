/**
 * Circles in a pipeline, which no order of its nodes resolves.
 *
 * @module
 */

/** An edge, as far as the order of nodes goes. */
interface Order {
  source: { node: string };
  target: { node: string };
}

/**
 * The names of the nodes that stand in a circle, or between two of them, in the order in which the
 * edges name them; empty when the edges have an order.
 */
export function nodesInCircles(edges: readonly Order[]): Set<string> {
  const hops = edges.map(({ source, target }): Hop => [source.node, target.node]);
  const backwards = withoutBeginnings(hops).map(([from, to]): Hop => [to, from]);
  return new Set(withoutBeginnings(backwards).flatMap(([to, from]) => [from, to]));
}

type Hop = [from: string, to: string];

/** The hops that are left when all are taken away, one after the other, that nothing leads to. */
function withoutBeginnings(hops: readonly Hop[]): Hop[] {
  const following = Map.groupBy(hops, ([from]) => from);
  const leadingTo = new Map<string, number>();
  for (const [, to] of hops) leadingTo.set(to, (leadingTo.get(to) ?? 0) + 1);
  const free = [...following.keys()].filter((name) => !leadingTo.has(name));
  const gone = new Set<string>();
  for (const name of free) {
    gone.add(name);
    for (const [, to] of following.get(name) ?? []) {
      const count = (leadingTo.get(to) ?? 0) - 1;
      leadingTo.set(to, count);
      if (count === 0) free.push(to);
    }
  }
  return hops.filter(([from]) => !gone.has(from));
}
