/**
 * The project configuration file, in the `valohai.yaml` format: a list of items, each an object whose
 * only field names what it declares. A kind of item is one schema and one line in the list here.
 *
 * @module
 */
import type { z } from "zod";
import { ActionError, InvalidInputError, type Problem } from "../errors.ts";
import { pointer, problemsOf } from "../schema.ts";
import { type LocatedProblem, parseYaml, type YamlSource } from "../yaml.ts";
import { type Step, stepSchema, stepWarnings } from "./step.ts";

/** A project configuration file that was read. */
export interface ProjectConfig {
  steps: Map<string, Step>;
  /** What is odd but keeps nothing from running. */
  warnings: LocatedProblem[];
}

/** Items that the format knows and that are not read here. */
const UNREAD_ITEMS = ["pipeline", "blueprint", "endpoint", "task", "deployment"];
const PROBLEMS_MAX = 100;

/** Reads one item; what is wrong with it goes to the findings, with pointers from the file's root. */
type ReadItem = (value: unknown, at: string, config: ProjectConfig, findings: Findings) => void;

interface Findings {
  problems: Problem[];
  warnings: Problem[];
}

const readers: ReadonlyMap<string, ReadItem> = new Map([
  ["step", readStep],
  ...UNREAD_ITEMS.map((kind): [string, ReadItem] => [kind, () => {}]),
]);

/**
 * Reads a project configuration file.
 *
 * @param text its YAML
 * @param name its name, for the error
 * @throws {InvalidInputError} with everything that is wrong, each with line and column
 */
export function readConfigFile(text: string, name: string): ProjectConfig {
  const source = parseYaml(text, name);
  const config: ProjectConfig = { steps: new Map(), warnings: [] };
  const findings: Findings = { problems: [], warnings: [] };
  if (Array.isArray(source.value)) {
    for (const [index, item] of source.value.entries()) readItem(item, index, config, findings);
  } else {
    const detail = 'Expected a list of items such as "- step: …", found ' +
      (source.value === null ? "nothing" : "something else");
    findings.problems.push({ pointer: "", detail });
  }
  if (findings.problems.length > 0) throw invalid(name, source, findings.problems);
  config.warnings = source.located(findings.warnings);
  return config;
}

/**
 * The step of a name.
 *
 * @throws {ActionError} that lists the steps there are, when there is none of this name
 */
export function findStep(config: ProjectConfig, name: string): Step {
  const step = config.steps.get(name);
  if (step) return step;
  const names = [...config.steps.keys()].map((other) => `"${other}"`).join(", ") || "none";
  throw new ActionError(`Cannot run step "${name}": there is none of this name; found ${names}`);
}

function readItem(
  item: unknown,
  index: number,
  config: ProjectConfig,
  findings: Findings,
): void {
  const at = pointer(index);
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    const detail = 'Expected an item such as "step: …"';
    findings.problems.push({ pointer: at, detail });
    return;
  }
  for (const [kind, value] of Object.entries(item)) {
    const read = readers.get(kind);
    if (read) read(value, at + pointer(kind), config, findings);
    else {
      const detail = `Unknown item "${kind}": it is passed over`;
      findings.warnings.push({ pointer: at + pointer(kind), detail });
    }
  }
}

function readStep(value: unknown, at: string, config: ProjectConfig, findings: Findings): void {
  if (value === null) {
    const detail = "Expected an object, found nothing: the fields below may need more indentation";
    findings.problems.push({ pointer: at, detail });
    return;
  }
  const read = check(stepSchema, value, at, findings);
  if (read === undefined) return;
  // The schema takes nothing but objects.
  const step: Step = { ...read, written: value as Record<string, unknown> };
  for (const warning of stepWarnings(step, value)) {
    findings.warnings.push({ ...warning, pointer: at + warning.pointer });
  }
  if (config.steps.has(step.name)) {
    const detail = `Another step of the name "${step.name}" stands above: this one takes its place`;
    findings.warnings.push({ pointer: `${at}/name`, detail });
  }
  config.steps.set(step.name, step);
}

function check<T>(
  schema: z.ZodType<T>,
  value: unknown,
  at: string,
  findings: Findings,
): T | undefined {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  for (const problem of result.error.issues.flatMap(problemsOf)) {
    findings.problems.push({ ...problem, pointer: at + problem.pointer });
  }
  return undefined;
}

/** In the order of the text, as a person goes through it. */
function invalid(name: string, source: YamlSource, problems: readonly Problem[]) {
  const located = source.located(problems).toSorted((one, other) =>
    one.line - other.line || one.column - other.column
  );
  return new InvalidInputError(name, located.slice(0, PROBLEMS_MAX));
}
