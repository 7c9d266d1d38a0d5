/**
 * Values that a pipeline's nodes need: a launch of a pipeline sets the pipeline's own parameters, and no
 * others.
 *
 * @module
 */
import type { Problem } from "../errors.ts";
import { overriddenParameters } from "./override.ts";
import { type Declared, stepOfNode } from "./pipeline_check.ts";
import type { ReadNode } from "./pipeline_node.ts";
import type { PipelineParts } from "./pipeline_schema.ts";
import { itemsOf, type Step } from "./step.ts";

/** Warns of what nothing in a pipeline gives a value, with pointers relative to the pipeline. */
export function valueWarnings(parts: PipelineParts, declared: Declared): Problem[] {
  const { nodes, edges, parameters } = parts;
  const given = new Set<string>();
  for (const read of edges) {
    if (read) given.add(keyOf(read.edge.target.node, read.edge.target.type, read.edge.target.key));
  }
  for (const read of parameters) {
    for (const { node, parameter } of read?.parameter.targets ?? []) {
      given.add(keyOf(node, "parameter", parameter));
    }
  }
  return nodes.flatMap(({ read }, index) => {
    const step = read?.node.type === "execution" ? stepOfNode(read, declared) : undefined;
    if (read === undefined || step === undefined) return [];
    return needed(read, step)
      .filter(({ type, name }) => !given.has(keyOf(read.node.name, type, name)))
      .map(({ type, name }) => ({
        pointer: `/nodes/${index}`,
        detail: `Cannot be launched so: nothing gives its ${
          type.replace("-", " ")
        } "${name}" a value`,
      }));
  });
}

/** The parameters and environment variables that have no value and must have one. */
function needed({ node }: ReadNode, step: Step): { type: string; name: string }[] {
  const parameters = overriddenParameters(step, node.override).values()
    .filter(({ optional, default: initial }) => !optional && initial === undefined);
  const overridden = itemsOf(node.override["environment-variables"])
    .filter((item) => item.optional === true || item.default !== undefined)
    .map(({ name }) => name);
  const variables = step.environmentVariables.values()
    .filter(({ optional, default: initial }) => !optional && initial === undefined)
    .filter(({ name }) => !overridden.includes(name));
  return [
    ...parameters.map(({ name }) => ({ type: "parameter", name })),
    ...variables.map(({ name }) => ({ type: "environment-variable", name })),
  ];
}

function keyOf(node: string, type: string, key: string): string {
  return JSON.stringify([node, type, key]);
}
