/**
 * Values that the nodes of a pipeline need and nothing sets. A launch of a pipeline sets only the
 * parameters of the pipeline.
 *
 * @module
 */
import type { Problem } from "../../../platform/errors.ts";
import { booleanOfWord } from "../fields.ts";
import { overriddenParameters } from "../step/override.ts";
import { type Declared, stepOfNode } from "./problems.ts";
import type { ReadNode } from "./node.ts";
import type { PipelineParts } from "./schema.ts";
import { itemsOf, type Step } from "../step/step.ts";

/** The number of warnings about one node. */
const VALUES_MAX = 10;

/** Returns warnings of values that nothing sets, with pointers into the pipeline. */
export function missingValueWarnings(parts: PipelineParts, declared: Declared): Problem[] {
  const given = givenValues(parts);
  return parts.nodes.flatMap(({ read }, index) => {
    const step = read?.node.type === "execution" ? stepOfNode(read, declared) : undefined;
    if (read === undefined || step === undefined) return [];
    const missing = needed(read, step)
      .filter(({ type, name }) => given.get(read.node.name)?.has(`${type} ${name}`) !== true);
    return Array.from(missing.take(VALUES_MAX), ({ type, name }) => ({
      pointer: `/nodes/${index}`,
      detail: `Cannot be launched: nothing sets its ${type.replace("-", " ")} "${name}"`,
    }));
  });
}

/** Returns the values that edges and the pipeline's parameters set, by node. */
function givenValues({ edges, parameters }: PipelineParts): Map<string, Set<string>> {
  const given = new Map<string, Set<string>>();
  const add = (node: string, value: string) =>
    given.set(node, (given.get(node) ?? new Set<string>()).add(value));
  for (const read of edges) {
    if (read) add(read.edge.target.node, `${read.edge.target.type} ${read.edge.target.key}`);
  }
  for (const read of parameters) {
    for (const { node, parameter } of read?.parameter.targets ?? []) {
      add(node, `parameter ${parameter}`);
    }
  }
  return given;
}

/** Yields the parameters and environment variables that must have a value and have no default. */
function* needed({ node }: ReadNode, step: Step): Generator<{ type: string; name: string }> {
  const changed = overriddenParameters(step, node.override);
  for (const [name, declared] of step.parameters) {
    const { optional, default: initial } = changed.get(name) ?? declared;
    if (!optional && initial === undefined) yield { type: "parameter", name };
  }
  const variables = new Map(
    itemsOf(node.override["environment-variables"]).map((item) => [item.name, item]),
  );
  for (const { name, optional, default: initial, secret } of step.environmentVariables.values()) {
    const item = variables.get(name) ?? {};
    const isOptional = item.optional === undefined
      ? optional
      : booleanOfWord(item.optional) === true;
    const hasDefault = (item.default ?? initial ?? secret) !== undefined;
    if (isOptional || hasDefault) continue;
    yield { type: "environment-variable", name };
  }
}
