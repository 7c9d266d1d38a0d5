/**
 * Values that the nodes of a pipeline need and nothing sets. A launch of a pipeline sets only the
 * parameters of the pipeline.
 *
 * @module
 */
import type { Problem } from "../../../platform/errors.ts";
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
  const variables = itemsOf(node.override["environment-variables"])
    .filter((item) => item.optional === true || item.default !== undefined);
  const overridden = new Set(variables.map((item) => item.name));
  for (const { name, optional, default: initial, secret } of step.environmentVariables.values()) {
    const isSet = optional || initial !== undefined || secret !== undefined;
    if (isSet || overridden.has(name)) continue;
    yield { type: "environment-variable", name };
  }
}
