/**
 * Checks the shape of `src`: imports make no circles, every export is used, and what one room exports to another
 * is documented.
 *
 * - Files import each other in no circle, types and imports that are made later included.
 * - Top-level folders import each other in no circle.
 * - Another file, of `src` or of the tests, uses each export.
 * - Every export that another top-level folder imports has a JSDoc comment.
 *
 * Run by `deno task check`. Prints each violation on a line and exits with 1 when there is one.
 *
 * @module
 */
import { dirname, join, relative } from "node:path";

const ROOT = "src";
const IMPORT = /^(?:import|export)\s+(?:type\s+)?([^;"']*?)\s*from\s+"(\.[^"]+\.tsx?)"/gm;
const LATER_IMPORT = /\bimport\(()"(\.[^"]+\.tsx?)"/g;

const EXPORT =
  /^export (?:default )?(?:abstract |async )*(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm;
const EXPORT_LIST = /^export (?:type )?\{([^}]*)\}/gm;
const SPECIFIER = /"(\.{1,2}\/[^"]+\.tsx?)"/g;

/** One import or re-export of a file by another. */
interface Edge {
  from: string;
  to: string;
  names: string[];
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

/** Reads the relative imports of a file. */
function importsOf(from: string, text: string): Edge[] {
  return [...text.matchAll(IMPORT), ...text.matchAll(LATER_IMPORT)].map((
    [, names = "", specifier = ""],
  ) => ({
    from,
    to: join(dirname(from), specifier),
    names: names.replace(/^[^{]*\{|\}$/g, "").split(",").map((name) => name.trim())
      .filter((name) => name !== "")
      .map((name) => name.replace(/^type /, "").replace(/ as .*$/, "")),
  }));
}

/** Finds the circles of a graph: its strongly connected components of more than one node (Tarjan). */
function circles(graph: Graph): string[][] {
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
function roomOf(path: string): string {
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

/** The names that a file exports. */
function exportsOf(text: string): string[] {
  const listed = [...text.matchAll(EXPORT_LIST)].flatMap(([, list = ""]) => list.split(","));
  return [
    ...[...text.matchAll(EXPORT)].map(([, name = ""]) => name),
    ...listed.map((each) => each.trim().replace(/^type |^.* as /g, "")).filter((name) => name),
  ];
}

/** Returns the exports that no other file names, a line each. */
function unusedExports(files: ReadonlyMap<string, string>, tests: ReadonlyMap<string, string>) {
  const users = new Map<string, Set<string>>();
  for (const [path, text] of [...files, ...tests]) {
    for (const [, specifier = ""] of text.matchAll(SPECIFIER)) {
      const target = join(dirname(path), specifier);
      if (target !== path) users.set(target, (users.get(target) ?? new Set()).add(text));
    }
  }
  return [...files].flatMap(([path, text]) =>
    exportsOf(text)
      .filter((name) =>
        ![...users.get(path) ?? []].some((user) => new RegExp(`\\b${name}\\b`).test(user))
      )
      .map((name) => `${path}: "${name}" is exported, and no other file uses it`)
  );
}

/**
 * Returns what is wrong with a set of files, a line each.
 *
 * @param tests the files of the tests, which may use exports, too
 */
export function violations(
  files: ReadonlyMap<string, string>,
  tests: ReadonlyMap<string, string> = new Map(),
): string[] {
  const edges = [...files].flatMap(([path, text]) => importsOf(path, text));
  const show = (what: string) => (circle: string[]) => `${what}: ${circle.join(" ⇄ ")}`;
  const undocumented = edges.filter(({ from, to }) => roomOf(from) !== roomOf(to))
    .flatMap(({ to, names }) =>
      names.filter((name) => !isDocumented(files.get(to) ?? "", name))
        .map((name) => `${to}: "${name}" has no JSDoc comment, and other folders import it`)
    );
  return [
    ...circles(graphOf(edges)).map(show("Files import each other")),
    ...circles(graphOf(edges, roomOf)).map(show("Folders import each other")),
    ...new Set(undocumented),
    ...unusedExports(files, tests),
  ];
}

if (import.meta.main) {
  const [files, tests] = [ROOT, "tests"].map((folder) =>
    new Map(sourceFiles(folder).map((path) => [path, Deno.readTextFileSync(path)]))
  ) as [Map<string, string>, Map<string, string>];
  const wrong = violations(files, tests);
  for (const line of wrong) console.error(line);
  console.log(`${files.size} files of ${ROOT}: ${wrong.length} violations`);
  Deno.exit(wrong.length === 0 ? 0 : 1);
}
