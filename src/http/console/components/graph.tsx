/** The graph of a pipeline as SVG, from left to right. A node leads to its execution. */
import { Graph as Layered, layout } from "@dagrejs/dagre";
import { evictOldest } from "../../../platform/evict_oldest.ts";
import type { PipelineDetails } from "../../api/pipelines.ts";
import type { Html } from "../route.ts";
import { ICONS, toneOf } from "./states.tsx";

const [WIDTH, HEIGHT, MARGIN] = [172, 52, 4];
/** The layout of more nodes takes longer than a page may; the table below has them all. */
const NODES_MAX = 40;
const LAYOUTS_MAX = 200;
const LABEL_LENGTH = 19;

type Parts = Pick<PipelineDetails, "id" | "nodes" | "edges">;

interface Point {
  x: number;
  y: number;
}

/** The places of nodes, by their names, and of edges. */
interface Placed {
  width: number;
  height: number;
  nodes: ReadonlyMap<string, Point>;
  edges: readonly (readonly Point[])[];
}

/** The edges of a pipeline never change, so its layout stays. The oldest goes first. */
const layouts = new Map<string, Placed>();

export function Graph({ id, nodes, edges }: Parts): Html | null {
  if (nodes.length > NODES_MAX) {
    return <p class="dim">The graph of more than {NODES_MAX} nodes is not drawn.</p>;
  }
  const placed = layouts.get(id) ?? place({ id, nodes, edges });
  const { width, height } = placed;
  return (
    <div class="scroll graph" role="region" aria-label="Graph" tabindex={0}>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
        {placed.edges.map((points) => <polyline points={points.map(pointText).join(" ")} />)}
        {nodes.map((node) => <GraphNode node={node} at={placed.nodes.get(node.name)} />)}
      </svg>
    </div>
  );
}

interface NodeProps {
  node: PipelineDetails["nodes"][number];
  at: Point | undefined;
}

function GraphNode({ node, at }: NodeProps): Html | null {
  if (at === undefined) return null;
  const { name, status, execution_id } = node;
  const tone = toneOf(status);
  const drawn = (
    <g class={`node ${tone}`} transform={`translate(${at.x} ${at.y})`}>
      <title>{name}</title>
      <rect width={WIDTH} height={HEIGHT} rx={6} />
      <text x={12} y={21}>{shortened(name)}</text>
      <text x={12} y={40} class="told">{ICONS[tone]} {status.replaceAll("_", " ")}</text>
    </g>
  );
  if (execution_id === undefined) return drawn;
  return <a href={`executions/${execution_id}`} aria-label={`${name}, ${status}`}>{drawn}</a>;
}

function place({ id, nodes, edges }: Parts): Placed {
  const graph = new Layered().setGraph({
    rankdir: "LR",
    nodesep: 24,
    ranksep: 56,
    marginx: MARGIN,
    marginy: MARGIN,
  }).setDefaultEdgeLabel(() => ({}));
  for (const { name } of nodes) graph.setNode(name, { width: WIDTH, height: HEIGHT });
  for (const { source, target } of edges) {
    if (graph.hasNode(source.node) && graph.hasNode(target.node)) {
      graph.setEdge(source.node, target.node);
    }
  }
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  const corner = (name: string): Point => {
    const { x = 0, y = 0 } = graph.node(name);
    return { x: x - WIDTH / 2, y: y - HEIGHT / 2 };
  };
  const placed: Placed = {
    width,
    height,
    nodes: new Map(nodes.map(({ name }) => [name, corner(name)])),
    edges: graph.edges().map((edge) => graph.edge(edge).points ?? []),
  };
  layouts.set(id, placed);
  evictOldest(layouts, LAYOUTS_MAX);
  return placed;
}

function pointText({ x, y }: Point): string {
  return `${x.toFixed(1)},${y.toFixed(1)}`;
}

function shortened(name: string): string {
  return name.length > LABEL_LENGTH ? `${name.slice(0, LABEL_LENGTH - 1)}…` : name;
}
