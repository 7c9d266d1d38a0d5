/**
 * The project configuration file, in the `valohai.yaml` format: a list of items, each an object
 * whose only field is its kind. A kind of item is one schema and one line in the list here.
 *
 * @module
 */
import type { z } from "zod";
import { ActionError, InvalidInputError, prefixed, type Problem } from "../../platform/errors.ts";
import { validate } from "../../platform/schema/schema.ts";
import { describeValue } from "../../platform/schema/describe.ts";
import { pointer } from "../../platform/schema/pointer.ts";
import type { LocatedProblem } from "../../platform/yaml/positions.ts";
import { parseYaml, type YamlSource } from "../../platform/yaml/parse.ts";
import { type Endpoint, endpointSchema } from "./endpoint.ts";
import type { Pipeline } from "./pipeline/pipeline.ts";
import { pipelineProblems } from "./pipeline/problems.ts";
import { pipelineOf, type PipelineParts, pipelineSchema, readParts } from "./pipeline/schema.ts";
import { pipelineWarnings } from "./pipeline/warnings.ts";
import { quotedList } from "../../platform/text/display.ts";
import { type Step, stepSchema, stepWarnings } from "./step/step.ts";
import { type Task, taskSchema, taskWarnings } from "./task.ts";

/** A project configuration file that was read. */
export interface ProjectConfig {
  steps: Map<string, Step>;
  pipelines: Map<string, Pipeline>;
  endpoints: Map<string, Endpoint>;
  tasks: Map<string, Task>;
  /** Warnings, in the order of the text. */
  warnings: LocatedProblem[];
}

/** The number of problems, and of warnings, that are told about one file. */
const PROBLEMS_MAX = 100;
/** The number of problems after which the reading ends. */
const PROBLEMS_READ_MAX = 10_000;
/** The messages of the YAML parser about wrong indentation. */
const INDENTATION = /indent|Nested mappings|Implicit (map )?keys|must start at the same column/i;

/** The state of the reading of a file. An item that is not valid is undefined. */
interface Reading {
  steps: Map<string, Step | undefined>;
  pipelines: Map<string, PipelineParts | undefined>;
  endpoints: Map<string, Endpoint | undefined>;
  tasks: Map<string, Task | undefined>;
  /** All pipelines, also those that a later one of the same name replaces. */
  allPipelines: { at: string; parts: PipelineParts }[];
  problems: Problem[];
  warnings: Problem[];
}

/** Reads one item, and adds its problems with pointers from the root of the file. */
type ReadItem = (value: unknown, at: string, reading: Reading) => void;

const readers: ReadonlyMap<string, ReadItem> = new Map([
  ["step", readStep],
  ["pipeline", readPipeline],
  ["blueprint", readPipeline],
  ["endpoint", readEndpoint],
  ["task", readTask],
  // Defaults for deployments, which Hooklaunch does not run.
  ["deployment", () => {}],
]);

/**
 * Reads a project configuration file.
 *
 * @param written its YAML, as text or as bytes
 * @param name its name, for the error
 * @throws {InvalidInputError} with everything that is wrong, each with line and column
 */
export function readConfigFile(written: string | Uint8Array, name: string): ProjectConfig {
  const source = parseSource(written, name);
  const reading: Reading = {
    steps: new Map(),
    pipelines: new Map(),
    endpoints: new Map(),
    tasks: new Map(),
    allPipelines: [],
    problems: [],
    warnings: [],
  };
  if (Array.isArray(source.value)) {
    for (const [index, item] of source.value.entries()) {
      if (reading.problems.length > PROBLEMS_READ_MAX) break;
      readItem(item, pointer(index), reading);
    }
  } else {
    const detail = 'Expected a list of items such as "- step: …", found ' +
      (source.value === null ? "nothing" : describeValue(source.value));
    reading.problems.push({ pointer: "", detail });
  }
  // A pipeline may be above the items that it names.
  for (const { at, parts } of reading.allPipelines) {
    if (reading.problems.length > PROBLEMS_READ_MAX) break;
    add(reading.problems, at, pipelineProblems(parts, reading));
  }
  if (reading.problems.length > 0) {
    throw new InvalidInputError(name, inOrder(source, reading.problems));
  }
  for (const { at, parts } of reading.allPipelines) {
    add(reading.warnings, at, pipelineWarnings(parts, reading));
  }
  return {
    steps: present(reading.steps),
    pipelines: new Map(
      present(reading.pipelines).entries().map(([key, parts]) => [key, pipelineOf(parts)]),
    ),
    endpoints: present(reading.endpoints),
    tasks: present(reading.tasks),
    warnings: inOrder(source, reading.warnings),
  };
}

/**
 * Finds a step by its name.
 *
 * @throws {ActionError} that lists the steps, if there is none of this name
 */
export function findStep(config: ProjectConfig, name: string): Step {
  return find("step", config.steps, name);
}

/**
 * Finds a pipeline by its name.
 *
 * @throws {ActionError} that lists the pipelines, if there is none of this name
 */
export function findPipeline(config: ProjectConfig, name: string): Pipeline {
  return find("pipeline", config.pipelines, name);
}

function find<T>(kind: string, items: ReadonlyMap<string, T>, name: string): T {
  const item = items.get(name);
  if (item) return item;
  const names = quotedList(items.keys());
  throw new ActionError(`Cannot run ${kind} "${name}": there is none of this name; found ${names}`);
}

/** Parses YAML, and adds a hint on indentation to problems with that. */
function parseSource(written: string | Uint8Array, name: string): YamlSource {
  try {
    return parseYaml(written, name);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    // Problems of the YAML parser have a place.
    const problems = error.problems as readonly LocatedProblem[];
    const first = problems.find(({ detail }) => INDENTATION.test(detail));
    if (first === undefined) throw error;
    // One wrong line causes several problems.
    const others = problems.filter(({ detail, line }) =>
      line !== first.line && !INDENTATION.test(detail)
    );
    const detail = `${first.detail}: the lines here may be indented unevenly`;
    throw new InvalidInputError(name, [{ ...first, detail }, ...others]);
  }
}

function readItem(item: unknown, at: string, reading: Reading): void {
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    const detail = `Expected an item such as "step: …", found ${describeValue(item)}`;
    reading.problems.push({ pointer: at, detail });
    return;
  }
  for (const [kind, value] of Object.entries(item)) {
    const place = at + pointer(kind);
    const read = readers.get(kind);
    if (read === undefined) {
      const detail = `Unknown item "${kind}": it is ignored`;
      reading.warnings.push({ pointer: place, detail });
    } else if (value === null) {
      const detail =
        "Expected an object, found nothing: the fields below may need more indentation";
      reading.problems.push({ pointer: place, detail });
    } else read(value, place, reading);
  }
}

function readStep(value: unknown, at: string, reading: Reading): void {
  const read = check(stepSchema, value, at, reading);
  // The schema accepts only objects.
  const step = read && { ...read, written: value as Record<string, unknown> };
  register("step", reading.steps, step, value, at, reading);
  if (step) add(reading.warnings, at, stepWarnings(step));
}

function readPipeline(value: unknown, at: string, reading: Reading): void {
  check(pipelineSchema, value, at, reading);
  const parts = readParts(value);
  reading.allPipelines.push({ at, parts });
  register("pipeline", reading.pipelines, parts, value, at, reading);
}

function readEndpoint(value: unknown, at: string, reading: Reading): void {
  const endpoint = check(endpointSchema, value, at, reading);
  register("endpoint", reading.endpoints, endpoint, value, at, reading);
}

function readTask(value: unknown, at: string, reading: Reading): void {
  const task = check(taskSchema, value, at, reading);
  register("task", reading.tasks, task, value, at, reading);
  // The schema accepts only objects.
  const written = value as Record<string, unknown>;
  if (task) add(reading.warnings, at, taskWarnings(written));
}

/** Adds an item by its name, also one that is not valid: references to it are right. */
function register<T>(
  kind: string,
  items: Map<string, T | undefined>,
  item: T | undefined,
  value: unknown,
  at: string,
  { warnings }: Reading,
): void {
  const { name } = Object(value);
  if (typeof name !== "string") return;
  if (items.has(name)) {
    const detail = `Another ${kind} above has the name "${name}": this one replaces it`;
    warnings.push({ pointer: `${at}/name`, detail });
  }
  items.set(name, item);
}

function check<T>(
  schema: z.ZodType<T>,
  value: unknown,
  at: string,
  { problems }: Reading,
): T | undefined {
  const result = validate(schema, value);
  if ("data" in result) return result.data;
  add(problems, at, result.problems);
  return undefined;
}

/** Adds problems one by one: a file may have more of them than a call may have arguments. */
function add(all: Problem[], at: string, problems: readonly Problem[]): void {
  for (const problem of prefixed(at, problems)) all.push(problem);
}

function present<T>(items: ReadonlyMap<string, T | undefined>): Map<string, T> {
  const found = new Map<string, T>();
  for (const [name, item] of items) if (item !== undefined) found.set(name, item);
  return found;
}

/** Sorts problems in the order of the text. */
function inOrder(source: YamlSource, problems: readonly Problem[]): LocatedProblem[] {
  return source.located(problems).toSorted((one, other) =>
    one.line - other.line || one.column - other.column
  ).slice(0, PROBLEMS_MAX);
}
