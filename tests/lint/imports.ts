/**
 * Checks the shape of `src`: imports make no circles, and what one room exports to another is documented.
 *
 * - Files import each other's values in no circle.
 * - Top-level folders import each other in no circle, types included. So a circle of types stays in one folder.
 * - Every export that another top-level folder imports has a JSDoc comment.
 *
 * Run by `deno task check`. Prints each violation on a line and exits with 1 when there is one.
 *
 * @module
 */
import { dirname, join, relative } from "node:path";

const ROOT = "src";
const IMPORT = /^(?:import|export)\s+(type\s+)?([^;"']*?)\s*from\s+"(\.[^"]+\.tsx?)"/gm;

/** One import or re-export of a file by another. */
interface Edge {
  from: string;
  to: string;
  names: string[];
  isType: boolean;
}

/** The edges of an import graph: which nodes each node leads to. */
type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Returns every TypeScript file below a folder. */
export function sourceFiles(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    const path = join(folder, name);
    if (isDirectory) return sourceFiles(path);
    return /\.tsx?$/.test(name) && !name.endsWith(".d.ts") ? [path] : [];
  }).sort();
}

/** Reads the relative imports of a file. An import of types alone is not one of values. */
export function importsOf(from: string, text: string): Edge[] {
  return [...text.matchAll(IMPORT)].map(([, type, names = "", specifier = ""]) => {
    const list = names.replace(/^[^{]*\{|\}$/g, "").split(",").map((name) => name.trim())
      .filter((name) => name !== "");
    const isType = type !== undefined ||
      (names.startsWith("{") && list.every((name) => name.startsWith("type ")));
    return {
      from,
      to: join(dirname(from), specifier),
      names: list.map((name) => name.replace(/^type /, "").replace(/ as .*$/, "")),
      isType,
    };
  });
}

/** Finds the circles of a graph: its strongly connected components of more than one node (Tarjan). */
export function circles(graph: Graph): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (node: string): void => {
    order.set(node, order.size);
    low.set(node, order.get(node) ?? 0);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) visit(next);
      else if (!stack.includes(next)) continue;
      low.set(node, Math.min(low.get(node) ?? 0, low.get(next) ?? 0));
    }
    if (low.get(node) !== order.get(node)) return;
    const circle = stack.splice(stack.indexOf(node));
    if (circle.length > 1) found.push(circle.sort());
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return found;
}

/** Returns the top-level folder of a file in `src`, or the file itself where it lies in `src`. */
export function roomOf(path: string): string {
  return relative(ROOT, path).split("/")[0] ?? path;
}

function graphOf(edges: readonly Edge[], node = (path: string) => path): Graph {
  const graph = new Map<string, Set<string>>();
  for (const { from, to } of edges) {
    const [source, target] = [node(from), node(to)];
    const targets = graph.get(source) ?? new Set();
    if (source !== target) targets.add(target);
    graph.set(source, targets);
  }
  return graph;
}

/** Whether a text documents one of its exports, which other files re-export under the same name. */
function isDocumented(text: string, name: string): boolean {
  const declared = new RegExp(
    `^export (?:abstract |async )*(?:function\\*?|const|let|class|interface|type|enum) ${name}\\b`,
    "m",
  ).exec(text);
  return declared === null || text.slice(0, declared.index).trimEnd().endsWith("*/");
}

/** Returns what is wrong with a set of files, a line each. */
export function violations(files: ReadonlyMap<string, string>): string[] {
  const edges = [...files].flatMap(([path, text]) => importsOf(path, text));
  const values = edges.filter(({ isType }) => !isType);
  const show = (what: string) => (circle: string[]) => `${what}: ${circle.join(" ⇄ ")}`;
  const undocumented = edges.filter(({ from, to }) => roomOf(from) !== roomOf(to))
    .flatMap(({ to, names }) =>
      names.filter((name) => !isDocumented(files.get(to) ?? "", name))
        .map((name) => `${to}: "${name}" has no JSDoc comment, and other folders import it`)
    );
  return [
    ...circles(graphOf(values)).map(show("Files import each other's values")),
    ...circles(graphOf(edges, roomOf)).map(show("Folders import each other")),
    ...new Set(undocumented),
  ];
}

if (import.meta.main) {
  const files = new Map(sourceFiles(ROOT).map((path) => [path, Deno.readTextFileSync(path)]));
  const wrong = violations(files);
  for (const line of wrong) console.error(line);
  console.log(`${files.size} files of ${ROOT}: ${wrong.length} violations`);
  Deno.exit(wrong.length === 0 ? 0 : 1);
}
