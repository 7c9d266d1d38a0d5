/**
 * What is odd about a pipeline but does not make the file invalid: some of it is refused when the
 * pipeline is launched.
 *
 * @module
 */
import { prefixed, type Problem } from "../../../platform/errors.ts";
import { overriddenParameters, overrideWarnings } from "../override.ts";
import { checkValue } from "../parameter.ts";
import { type Declared, stepOfNode } from "./check.ts";
import { nodesInCircles } from "./cycle.ts";
import { edgeProblem, mayBePattern } from "./edge_check.ts";
import { valueWarnings } from "./value_check.ts";
import { firstQuoted } from "../quoted.ts";
import type { PipelineParts } from "./schema.ts";

/** What is odd about a pipeline without problems, with pointers relative to it. */
export function pipelineWarnings(parts: PipelineParts, declared: Declared): Problem[] {
  return [
    ...nodeWarnings(parts, declared),
    ...valueWarnings(parts, declared),
    ...edgeWarnings(parts, declared),
    ...parameterWarnings(parts, declared),
  ];
}

function nodeWarnings({ nodes }: PipelineParts, declared: Declared): Problem[] {
  return nodes.flatMap(({ read }, index) => {
    if (read === undefined) return [];
    const step = stepOfNode(read, declared);
    const ofOverride = step ? overrideWarnings(step, read.node.override) : [];
    return [
      ...prefixed(`/nodes/${index}`, read.warnings),
      ...prefixed(`/nodes/${index}/override`, ofOverride),
    ];
  });
}

function edgeWarnings({ nodes, edges }: PipelineParts, declared: Declared): Problem[] {
  const byName = new Map(nodes.map(({ name, read }) => [name, read]));
  const warnings = edges.flatMap((read, index) => {
    if (read === undefined) return [];
    const { edge, places } = read;
    const own = prefixed(`/edges/${index}`, read.warnings);
    const [source, target] = [byName.get(edge.source.node), byName.get(edge.target.node)];
    // What deployments take is not known.
    if ([source, target].some((end) => end?.node.type === "deployment")) return own;
    // Which inputs a pattern fits is seen at a launch: of many edges it would take too long.
    const isPattern = edge.source.type === "input" && mayBePattern(edge.source.key);
    const problem = edgeProblem(edge, {
      source: source && !isPattern ? stepOfNode(source, declared) : undefined,
      target: target && stepOfNode(target, declared),
    });
    if (problem === undefined) return own;
    const detail = `Cannot be launched so: the edge ${problem.detail}`;
    return [...own, { pointer: `/edges/${index}${places[problem.end]}`, detail }];
  });
  const circle = nodesInCircles(edges.flatMap((read) => read ? [read.edge] : []));
  if (circle.size > 0) {
    const names = firstQuoted(circle);
    const detail = `They lead in a circle, so it cannot be launched: see the nodes ${names}`;
    warnings.push({ pointer: "/edges", detail });
  }
  return warnings;
}

function parameterWarnings({ nodes, parameters }: PipelineParts, declared: Declared): Problem[] {
  const warnings: Problem[] = [];
  const names = new Set<string>();
  const launched = new Map(nodes.map(({ name, read }) => {
    // A task takes each value of a list by itself.
    const step = read?.node.type === "execution" ? stepOfNode(read, declared) : undefined;
    return [
      name,
      step && read && { step, changed: overriddenParameters(step, read.node.override) },
    ];
  }));
  for (const [index, read] of parameters.entries()) {
    if (read === undefined) continue;
    const { name, targets, default: initial } = read.parameter;
    const at = `/parameters/${index}`;
    for (const { node, parameter: target } of initial === undefined ? [] : targets) {
      const { step, changed } = launched.get(node) ?? {};
      const parameter = changed?.get(target) ?? step?.parameters.get(target);
      const checked = parameter && checkValue(parameter, initial);
      if (checked === undefined || "value" in checked) continue;
      const detail =
        `The parameter "${target}" of node "${node}" cannot take it: ${checked.problem}`;
      warnings.push({ pointer: `${at}/default`, detail });
      break;
    }
    if (targets.length === 0) warnings.push({ pointer: at, detail: "Has no effect: no targets" });
    if (names.has(name)) {
      const detail = `Another of the name "${name}" stands above: this one takes its place`;
      warnings.push({ pointer: `${at}/name`, detail });
    }
    names.add(name);
  }
  return warnings;
}
