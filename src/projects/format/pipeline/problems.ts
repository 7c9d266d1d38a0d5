/**
 * Problems of a pipeline beyond its form: unknown names, and overrides that do not fit their step.
 *
 * @module
 */
import { prefixed, type Problem } from "../../../platform/errors.ts";
import { pointer } from "../../../platform/schema/pointer.ts";
import { overrideProblems } from "../step/override.ts";
import { firstQuoted } from "../../../platform/text/display.ts";
import type { ReadNode } from "./node.ts";
import type { PipelineParts } from "./schema.ts";
import type { Step } from "../step/step.ts";
import type { Task } from "../task.ts";

/** The other items of a project configuration file by name; undefined if one is not valid. */
export interface Declared {
  steps: ReadonlyMap<string, Step | undefined>;
  tasks: ReadonlyMap<string, Task | undefined>;
}

/** Returns the problems of a pipeline, with pointers into it. */
export function pipelineProblems(parts: PipelineParts, declared: Declared): Problem[] {
  const problems: Problem[] = [];
  const names = new Set<string>();
  for (const [index, { name, read }] of parts.nodes.entries()) {
    const at = pointer("nodes", index);
    if (typeof name === "string" && names.has(name)) {
      const detail = `Expected a unique name, found that of another node, "${name}"`;
      problems.push({ pointer: `${at}/name`, detail });
    }
    if (typeof name === "string") names.add(name);
    if (read) problems.push(...prefixed(at, nodeProblems(read, declared)));
  }
  return [...problems, ...edgeProblems(parts, names), ...parameterProblems(parts, names, declared)];
}

/**
 * Returns the step of a node; undefined if the node takes it from another commit, or it does not
 * exist.
 */
export function stepOfNode({ node, task }: ReadNode, declared: Declared): Step | undefined {
  if (node.commit !== undefined) return undefined;
  const name = node.step ?? declared.tasks.get(task ?? "")?.step;
  return name === undefined ? undefined : declared.steps.get(name);
}

function nodeProblems(read: ReadNode, declared: Declared): Problem[] {
  const { node, task } = read;
  if (node.commit !== undefined) return [];
  if (node.step !== undefined && !declared.steps.has(node.step)) {
    return [missing("/step", "step", node.step, declared.steps)];
  }
  if (task !== undefined) {
    if (!declared.tasks.has(task)) return [missing("/task", "task", task, declared.tasks)];
    const step = declared.tasks.get(task)?.step;
    if (step !== undefined && !declared.steps.has(step)) {
      const detail = `The task "${task}" runs step "${step}", which does not exist`;
      return [{ pointer: "/task", detail }];
    }
  }
  const step = stepOfNode(read, declared);
  return step ? prefixed("/override", overrideProblems(step, node.override)) : [];
}

function edgeProblems({ edges }: PipelineParts, nodes: ReadonlySet<string>): Problem[] {
  return edges.flatMap((read, index) => {
    if (read === undefined) return [];
    const { edge, places } = read;
    return (["source", "target"] as const)
      .filter((side) => !nodes.has(edge[side].node))
      .map((side) => missing(`/edges/${index}${places[side]}`, "node", edge[side].node, nodes));
  });
}

function parameterProblems(
  { nodes, parameters }: PipelineParts,
  names: ReadonlySet<string>,
  declared: Declared,
): Problem[] {
  const byName = new Map(nodes.map(({ name, read }) => [name, read]));
  return parameters.flatMap((read, index) =>
    (read?.parameter.targets ?? []).flatMap(({ node: name, parameter }, targetIndex) => {
      const at = `/parameters/${index}${read?.places[targetIndex]}`;
      if (!names.has(name)) return [missing(at, "node", name, names)];
      const node = byName.get(name);
      const step = node?.node.type === "execution" ? stepOfNode(node, declared) : undefined;
      if (step === undefined || step.parameters.has(parameter)) return [];
      return [missing(at, `parameter of step "${step.name}"`, parameter, step.parameters)];
    })
  );
}

function missing(
  at: string,
  what: string,
  name: string,
  known: ReadonlyMap<string, unknown> | ReadonlySet<string>,
): Problem {
  const detail = `Expected the name of a ${what}, found "${name}"; known are ${firstQuoted(known)}`;
  return { pointer: at, detail };
}
