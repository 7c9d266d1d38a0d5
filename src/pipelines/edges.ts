/**
 * What edges carry from one node to the next. A kind of source, and a kind of target, is one line
 * in a list here.
 *
 * @module
 */
import { basename, matchesGlob } from "node:path";
import {
  edgeProblem,
  fileOfUrl,
  inputsNamed,
  type Step,
  stepOf,
  valueAt,
} from "../projects/mod.ts";
import type { Execution, InputFile } from "../store/records/executions.ts";
import type { PipelinePlan, PlannedEdge, PlannedNode } from "../store/records/pipelines.ts";

/** What follows an output's name in the name of the file with its properties. */
const ABOUT_ONE = ".metadata.json";
/** A pattern that asks for files with properties, which stars alone do not bring. */
const ABOUT = /\.metadata\.jsonl?$/;

/** A character that no name has. */
const IN_FRONT = "\u{E000}";

/** What comes out of an edge: files for an input, or a value. */
type Carried = { files: InputFile[] } | { value: unknown } | undefined;

/** What a node gets from the nodes before it. */
export interface Gathered {
  inputs: Record<string, InputFile[]>;
  parameters: Record<string, unknown>;
  environment_variables: Record<string, string>;
  /** Edges that carried nothing, as the rest of a sentence. */
  missing: string[];
}

/** What an edge takes out of the execution before it. A dependency carries nothing. */
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

/** How an edge brings what it carries to the node behind it; whether that was of use. */
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
  // Without a prototype: an input may have the name of one of its properties.
  const inputs: Gathered["inputs"] = Object.create(null);
  const gathered: Gathered = { inputs, parameters: {}, environment_variables: {}, missing: [] };
  const declared = stepOf(node.step).inputs;
  for (const { source, target } of plan.edges) {
    if (target.node !== node.name || target.type === "dependency") continue;
    // An edge that brings nothing leaves the input empty: its default is not what was asked for.
    if (target.type === "input") inputs[target.key] ??= [];
    const execution = executionOf(source.node);
    const keep = declared.get(target.key)?.keepDirectories ?? "none";
    const carried = execution && SOURCES[source.type]?.(source.key, execution, keep);
    const isOfUse = carried && TARGETS[target.type]?.(target.key, carried, gathered, keep);
    if (isOfUse) continue;
    gathered.missing.push(`node "${source.node}" left no ${source.type} "${source.key}"`);
  }
  return gathered;
}

/** What is wrong with a plan's edges. */
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
 * Whether a path is the one that an edge names, whatever characters it has, or fits its pattern. A
 * pattern without a folder is one of file names, wherever they lie.
 */
function matches(path: string, pattern: string): boolean {
  const texts = pattern.includes("/") ? [path] : [path, basename(path)];
  return texts.some((text) =>
    text === pattern || matchesGlob(text, pattern) || matchesGlob(unhidden(text), pattern)
  );
}

/**
 * Whether an output tells of others: `model.pkl.metadata.json` of `model.pkl`, and one file of all.
 */
function isAbout(path: string, all: ReadonlySet<string>): boolean {
  return path === "valohai.metadata.jsonl" ||
    path.endsWith(ABOUT_ONE) && all.has(path.slice(0, -ABOUT_ONE.length));
}

/** A path in which no name begins with a dot, which stars would not match. */
function unhidden(path: string): string {
  return path.replace(/(?<=^|\/)\./g, `${IN_FRONT}.`);
}

/**
 * The name of an output as an input's file: `suffix` keeps the folders that the pattern does not
 * name.
 */
function nameOf(path: string, pattern: string, keep: Kept): string {
  if (keep === "none") return basename(path);
  if (keep === "full") return path;
  const fixed = pattern.slice(0, pattern.search(/[*?[{]|$/));
  const folder = fixed.slice(0, fixed.lastIndexOf("/") + 1);
  return path.startsWith(folder) ? path.slice(folder.length) : path;
}

/**
 * Whether a file is an output that another edge, whose pattern fits it as well, has brought
 * already.
 */
function isAmong(files: readonly InputFile[], file: InputFile): boolean {
  return "output_of" in file &&
    files.some((other) =>
      "output_of" in other && other.output_of === file.output_of && other.path === file.path
    );
}

/** A value that is there. */
function given(value: unknown): Carried {
  return value === undefined || value === null ? undefined : { value };
}

/** A value that is brought to an input names files by their URLs. */
function urlsIn(value: unknown, keep: Kept): InputFile[] {
  return [value].flat().filter((url): url is string => typeof url === "string" && url !== "")
    .map((url) => fileOfUrl(url, keep));
}
