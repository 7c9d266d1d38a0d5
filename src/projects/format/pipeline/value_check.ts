/**
 * Values that a pipeline's nodes need: a launch of a pipeline sets the pipeline's own parameters, and no
 * others.
 *
 * @module
 */
import type { Problem } from "../../../platform/errors.ts";
import { overriddenParameters } from "../override.ts";
import { type Declared, stepOfNode } from "./check.ts";
import type { ReadNode } from "./node.ts";
import type { PipelineParts } from "./schema.ts";
import { itemsOf, type Step } from "../step.ts";

/** Of how many values of one node it is told that nothing gives them. */
const VALUES_MAX = 10;

/** Warns of what nothing in a pipeline gives a value, with pointers relative to the pipeline. */
export function valueWarnings(parts: PipelineParts, declared: Declared): Problem[] {
  const given = givenValues(parts);
  return parts.nodes.flatMap(({ read }, index) => {
    const step = read?.node.type === "execution" ? stepOfNode(read, declared) : undefined;
    if (read === undefined || step === undefined) return [];
    const missing = needed(read, step)
      .filter(({ type, name }) => given.get(read.node.name)?.has(`${type} ${name}`) !== true);
    return Array.from(missing.take(VALUES_MAX), ({ type, name }) => ({
      pointer: `/nodes/${index}`,
      detail: `Cannot be launched so: nothing gives its ${
        type.replace("-", " ")
      } "${name}" a value`,
    }));
  });
}

/** What edges and the pipeline's parameters give each node, by its name. */
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

/** The parameters and environment variables that have no value and must have one. */
function* needed({ node }: ReadNode, step: Step): Generator<{ type: string; name: string }> {
  const changed = overriddenParameters(step, node.override);
  for (const [name, declared] of step.parameters) {
    const { optional, default: initial } = changed.get(name) ?? declared;
    if (!optional && initial === undefined) yield { type: "parameter", name };
  }
  const variables = itemsOf(node.override["environment-variables"])
    .filter((item) => item.optional === true || item.default !== undefined);
  const overridden = new Set(variables.map((item) => item.name));
  for (const { name, optional, default: initial } of step.environmentVariables.values()) {
    if (optional || initial !== undefined || overridden.has(name)) continue;
    yield { type: "environment-variable", name };
  }
}
