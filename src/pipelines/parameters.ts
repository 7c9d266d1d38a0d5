/**
 * Parameters of plans: those of the pipeline, and those of single nodes.
 *
 * @module
 */
import type { Problem } from "../platform/errors.ts";
import { pointer } from "../platform/schema/pointer.ts";
import { quotedList } from "../platform/text/display.ts";
import { type findPipeline, stepOf } from "../projects/mod.ts";
import type { PipelinePlan, PlannedNode } from "../store/records/pipelines.ts";

/** Puts the parameters that a pipeline declares into its plan, with their defaults. */
export function declareParameters(
  plan: PipelinePlan,
  declared: ReturnType<typeof findPipeline>["parameters"],
): void {
  if (declared.size === 0) return;
  plan.targets = Object.fromEntries(
    Array.from(declared, ([name, { targets }]) => [
      name,
      targets.map(({ node, parameter }) => ({ node, parameter })),
    ]),
  );
  for (const { name, default: initial } of declared.values()) {
    if (initial !== undefined) setDeclared(plan, name, initial);
  }
}

/**
 * Sets values of a plan's parameters, and of its nodes' own as `<node>.<parameter>`.
 *
 * @returns the problems, with pointers into the settings of an action
 */
export function setParameters(
  plan: PipelinePlan,
  given: Readonly<Record<string, unknown>> = {},
): Problem[] {
  const names = Object.keys(given);
  // What names one node is more exact than what the pipeline sets in several.
  const isDeclared = (name: string) => Object.hasOwn(plan.targets ?? {}, name);
  const ofNodes = names.filter((name) => !isDeclared(name));
  for (const name of names.filter(isDeclared)) setDeclared(plan, name, given[name]);
  return ofNodes.flatMap((name) => {
    const [found] = plan.nodes.flatMap((node) => {
      const parameter = parameterIn(node, name);
      return parameter === undefined ? [] : [{ node, parameter }];
    });
    if (found === undefined) {
      return [{ pointer: pointer("parameters", name), detail: unknown(plan, name) }];
    }
    found.node.parameters[found.parameter] = given[name];
    return [];
  });
}

function setDeclared(plan: PipelinePlan, name: string, value: unknown): void {
  plan.parameters = Object.fromEntries([
    ...Object.entries(plan.parameters).filter(([known]) => known !== name),
    [name, value],
  ]);
  for (const { node: owner, parameter } of plan.targets?.[name] ?? []) {
    const node = plan.nodes.find((each) => each.name === owner);
    if (node !== undefined) node.parameters[parameter] = value;
  }
}

/** Returns the parameter of a node that `<node>.<parameter>` names. Both names may have dots. */
function parameterIn(node: PlannedNode, name: string): string | undefined {
  if (!name.startsWith(`${node.name}.`)) return undefined;
  const parameter = name.slice(node.name.length + 1);
  return stepOf(node.step).parameters.has(parameter) ? parameter : undefined;
}

function unknown({ nodes, targets = {} }: PipelinePlan, name: string): string {
  const ofNodes = nodes.flatMap((node) =>
    Array.from(stepOf(node.step).parameters.keys(), (parameter) => `${node.name}.${parameter}`)
  );
  return `it has no parameter "${name}"; its parameters are ${quotedList(Object.keys(targets))}; ` +
    `those of its nodes are ${quotedList(ofNodes)}`;
}
