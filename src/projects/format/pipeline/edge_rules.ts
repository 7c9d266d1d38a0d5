/**
 * Rules of edges between executions: which values and files they carry, and to where.
 *
 * @module
 */
import { matchesGlob } from "node:path";
import { VARIABLE_NAME } from "../step/input.ts";
import { firstQuoted } from "../../../platform/text/display.ts";
import type { Step } from "../step/step.ts";

/** One end of an edge of a file or a plan. */
interface End {
  node: string;
  type: string;
  key: string;
}

/** The reason for which an edge cannot be launched. */
interface EdgeProblem {
  /** The end with the problem. */
  end: "source" | "target";
  /** The rest of a sentence whose subject is the edge. */
  detail: string;
}

/** The types whose keys may be patterns. */
const PATTERNS = ["input", "output"];
/**
 * Limits of a pattern, so that it is matched within a second. All ways in which stars can share the
 * name of a file or folder are tried, and all alternatives of braces are made. Stars count between
 * two slashes.
 */
const PATTERN_MAX = { stars: 4, braces: 4, commas: 32 };
/** `{1..9}` and `+(a|b)`, which can match any number of texts. */
const RANGE_OR_GROUP = /\{[^{}]*\.\.|[+@!?*]\(/;

/** The types of targets that each type of source can feed. */
const PAIRS: Readonly<Record<string, readonly string[]>> = {
  output: ["input", "dependency"],
  input: ["input", "dependency"],
  metadata: ["parameter", "environment-variable", "input", "dependency"],
  parameter: ["parameter", "environment-variable", "input", "dependency"],
  "environment-variable": ["parameter", "environment-variable", "dependency"],
  dependency: ["dependency"],
};

/**
 * Returns the reason for which an edge between two executions cannot be launched; undefined if it
 * can.
 *
 * @param steps the steps of its nodes; rules about an unknown step are left out
 */
export function edgeProblem(
  { source, target }: { source: End; target: End },
  steps: { source: Step | undefined; target: Step | undefined },
): EdgeProblem | undefined {
  const targets = PAIRS[source.type];
  if (targets === undefined) {
    return { end: "source", detail: `begins with "${source.type}", which no execution gives` };
  }
  if (!targets.includes(target.type)) {
    const expected = targets.join(", ");
    const detail = `carries ${source.type} to ${target.type}; expected one of ${expected}`;
    return { end: "target", detail };
  }
  if (target.type === "environment-variable" && !VARIABLE_NAME.test(target.key)) {
    const detail = `sets "${target.key}", which is no name of a variable: ` +
      "expected letters, digits and underscores, no digit first";
    return { end: "target", detail };
  }
  if (PATTERNS.includes(source.type) && !isQuickPattern(source.key)) {
    const { stars, braces, commas } = PATTERN_MAX;
    const detail = `has a pattern that may take too long: expected at most ${stars} stars ` +
      `between two slashes, ${braces} braces and ${commas} commas, no range and no group`;
    return { end: "source", detail };
  }
  const ofSource = undeclared(source, steps.source);
  const isPattern = source.type === "input" &&
    inputsNamed(source.key, steps.source?.inputs.keys() ?? []).length > 0;
  if (ofSource !== undefined && !isPattern) return { end: "source", detail: ofSource };
  const ofTarget = undeclared(target, steps.target);
  return ofTarget === undefined ? undefined : { end: "target", detail: ofTarget };
}

/**
 * Returns the inputs that a key names: the one of this name, or else those that match it as a
 * pattern.
 */
export function inputsNamed(key: string, names: Iterable<string>): string[] {
  const all = [...names];
  if (all.includes(key)) return [key];
  return mayBePattern(key) ? all.filter((name) => matchesGlob(name, key)) : [];
}

/** Returns true if a key may be a pattern. */
export function mayBePattern(key: string): boolean {
  return !/^[\w. -]*$/.test(key);
}

/** Returns true if a pattern is matched within a second, whatever the names are. */
function isQuickPattern(key: string): boolean {
  const count = (what: RegExp, text = key) => text.match(what)?.length ?? 0;
  return key.split("/").every((part) => count(/\*+/g, part) <= PATTERN_MAX.stars) &&
    count(/\{/g) <= PATTERN_MAX.braces && count(/,/g) <= PATTERN_MAX.commas &&
    !RANGE_OR_GROUP.test(key);
}

function undeclared({ node, type, key }: End, step: Step | undefined): string | undefined {
  const declared = step && { input: step.inputs, parameter: step.parameters }[type];
  if (declared === undefined || declared.has(key)) return undefined;
  return `names the ${type} "${key}" of node "${node}", which its step does not declare; ` +
    `its ${type}s are ${firstQuoted(declared)}`;
}
