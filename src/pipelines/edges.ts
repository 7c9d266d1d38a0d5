/**
 * Edges: the files and values that they carry from one node to the next. A kind of source or target
 * is one entry of a list here.
 *
 * @module
 */
import { basename, matchesGlob } from "node:path";
import {
  edgeProblem,
  fileOfUrl,
  inputsNamed,
  nodesInCycles,
  type Step,
  stepOf,
  valueAt,
} from "../projects/mod.ts";
import { quotedList } from "../platform/text/display.ts";
import type { Execution, InputFile } from "../store/records/executions.ts";
import type { PipelinePlan, PlannedEdge, PlannedNode } from "../store/records/pipelines.ts";

const NOTE_LENGTH_MAX = 1_000;
/** The ending of a file with the properties of one output, behind the output's name. */
const ABOUT_ONE = ".metadata.json";
/** A pattern for files with properties, which stars alone do not match. */
const ABOUT = /\.metadata\.jsonl?$/;

/** A character that no name has, in front of a dot. */
const IN_FRONT = "\u{E000}";

/** The load of an edge: files for an input, or a value. */
type Carried = { files: InputFile[] } | { value: unknown } | undefined;

/** The files and values that a node gets from the nodes before it. */
export interface Gathered {
  inputs: Record<string, InputFile[]>;
  parameters: Record<string, unknown>;
  environment_variables: Record<string, string>;
  /** The edges that carried nothing, each in a sentence. */
  missing: string[];
}

/** Takes the load of an edge out of the execution before it. A dependency has none. */
const SOURCES: Readonly<
  Record<string, (key: string, execution: Execution, keep: Kept) => Carried>
> = {
  output: (key, execution, keep) => {
    const paths = new Set(execution.outputs.map(({ path }) => path));
    const files = execution.outputs
      .filter(({ path }) => matches(path, key) && (!isAbout(path, paths) || ABOUT.test(key)))
      .map(({ path, size, sha256 }): InputFile => {
        return { name: nameOf(path, key, keep), output_of: execution.id, path, size, sha256 };
      });
    return files.length === 0 ? undefined : { files };
  },
  input: (key, { inputs }) => {
    const files = inputsNamed(key, Object.keys(inputs)).flatMap((name) => inputs[name] ?? []);
    return files.length === 0 ? undefined : { files };
  },
  metadata: (key, { metadata }) => given(valueAt(metadata, key)),
  parameter: (key, { parameters }) => given(valueAt(parameters, key)),
  "environment-variable": (key, { environment_variables }) =>
    given(valueAt(environment_variables, key)),
};

/** Adds the load of an edge to what the node behind it gets; returns false if it does not fit. */
const TARGETS: Readonly<
  Record<
    string,
    (key: string, carried: NonNullable<Carried>, gathered: Gathered, keep: Kept) => boolean
  >
> = {
  input: (key, carried, { inputs }, keep) => {
    const files = "files" in carried ? carried.files : urlsIn(carried.value, keep);
    const before = inputs[key] ?? [];
    inputs[key] = [...before, ...files.filter((file) => !isAmong(before, file))];
    return files.length > 0;
  },
  parameter: (key, carried, { parameters }) => {
    if (!("value" in carried)) return false;
    parameters[key] = carried.value;
    return true;
  },
  "environment-variable": (key, carried, { environment_variables }) => {
    if (!("value" in carried)) return false;
    const { value } = carried;
    environment_variables[key] = typeof value === "string" ? value : JSON.stringify(value);
    return true;
  },
};

type Kept = "none" | "full" | "suffix";

/** Gathers what a node gets from the executions of the nodes before it. */
export function gather(
  plan: PipelinePlan,
  node: PlannedNode,
  executionOf: (node: string) => Execution | undefined,
): Gathered {
  // It has no prototype: an input may have the name of a property of objects.
  const inputs: Gathered["inputs"] = Object.create(null);
  const gathered: Gathered = { inputs, parameters: {}, environment_variables: {}, missing: [] };
  const declared = stepOf(node.step).inputs;
  for (const { source, target } of plan.edges) {
    if (target.node !== node.name || target.type === "dependency") continue;
    // An edge that carries nothing leaves the input empty: nobody asked for the default.
    if (target.type === "input") inputs[target.key] ??= [];
    const execution = executionOf(source.node);
    const keep = declared.get(target.key)?.keepDirectories ?? "none";
    const carried = execution && SOURCES[source.type]?.(source.key, execution, keep);
    const isOfUse = carried && TARGETS[target.type]?.(target.key, carried, gathered, keep);
    if (isOfUse) continue;
    const left = `${source.type} "${source.key}"`;
    gathered.missing.push(
      carried
        ? `the ${left} of node "${source.node}" is no URL of a file for input "${target.key}"`
        : `node "${source.node}" left no ${left}`,
    );
  }
  return gathered;
}

/** Returns the names of the nodes that a node waits for, each once. */
export function predecessorsOf({ edges }: PipelinePlan, name: string): string[] {
  const incoming = edges.filter(({ target }) => target.node === name);
  return [...new Set(incoming.map(({ source }) => source.node))];
}

/** Returns the problem of nodes that wait for one another. */
export function checkCycles({ edges }: PipelinePlan): string[] {
  const names = nodesInCycles(edges);
  if (names.size === 0) return [];
  return [`its nodes wait for one another in a cycle: ${quotedList(names)}`];
}

/** Returns the problems of a plan's edges. */
export function checkEdges(plan: PipelinePlan): string[] {
  const steps = new Map(plan.nodes.map(({ name, step }) => [name, stepOf(step)]));
  return plan.edges.flatMap((edge) => {
    const problem = problemOf(edge, steps);
    return problem === undefined ? [] : [`its edge ${shown(edge)} ${problem}`];
  });
}

function problemOf(edge: PlannedEdge, steps: ReadonlyMap<string, Step>): string | undefined {
  const { source, target } = edge;
  const [from, to] = [steps.get(source.node), steps.get(target.node)];
  if (from === undefined) return `begins at "${source.node}", which is no node`;
  if (to === undefined) return `ends at "${target.node}", which is no node`;
  return edgeProblem(edge, { source: from, target: to })?.detail;
}

function shown({ source, target }: PlannedEdge): string {
  const end = ({ node, type, key }: PlannedEdge["source"]) => `${node}.${type}.${key}`;
  return `${end(source)} → ${end(target)}`;
}

/**
 * Returns true if a path equals a pattern or matches it. A pattern without a folder matches file
 * names.
 */
function matches(path: string, pattern: string): boolean {
  const texts = pattern.includes("/") ? [path] : [path, basename(path)];
  return texts.some((text) =>
    text === pattern || matchesGlob(text, pattern) || matchesGlob(unhidden(text), pattern)
  );
}

/** Returns true for an output with the properties of others, such as `model.pkl.metadata.json`. */
function isAbout(path: string, all: ReadonlySet<string>): boolean {
  return path === "valohai.metadata.jsonl" ||
    path.endsWith(ABOUT_ONE) && all.has(path.slice(0, -ABOUT_ONE.length));
}

/** Changes names that begin with a dot, which stars do not match. */
function unhidden(path: string): string {
  return path.replace(/(?<=^|\/)\./g, `${IN_FRONT}.`);
}

/**
 * Returns the name of an output as a file of an input: `suffix` keeps the folders that the pattern
 * does not name.
 */
function nameOf(path: string, pattern: string, keep: Kept): string {
  if (keep === "none") return basename(path);
  if (keep === "full") return path;
  const fixed = pattern.slice(0, pattern.search(/[*?[{]|$/));
  const folder = fixed.slice(0, fixed.lastIndexOf("/") + 1);
  return path.startsWith(folder) ? path.slice(folder.length) : path;
}

/**
 * Returns true if another edge, whose pattern it matches as well, has brought an output already.
 */
function isAmong(files: readonly InputFile[], file: InputFile): boolean {
  return "output_of" in file &&
    files.some((other) =>
      "output_of" in other && other.output_of === file.output_of && other.path === file.path
    );
}

/** Wraps a value; returns undefined for none. */
function given(value: unknown): Carried {
  return value === undefined || value === null ? undefined : { value };
}

/** Makes files of a value for an input, which is a URL or a list of URLs. */
function urlsIn(value: unknown, keep: Kept): InputFile[] {
  return [value].flat().filter((url): url is string => typeof url === "string" && url !== "")
    .map((url) => fileOfUrl(url, keep));
}

/** Returns the note in an execution's log about the edges that carried nothing. */
export function noteOn(missing: readonly string[]): string {
  return `Edges brought nothing: ${missing.join("; ")}`.slice(0, NOTE_LENGTH_MAX);
}
