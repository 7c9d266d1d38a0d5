/**
 * Warnings about a pipeline in a valid file. A launch refuses some of what they tell.
 *
 * @module
 */
import { prefixed, type Problem } from "../../../platform/errors.ts";
import { overriddenParameters, overrideWarnings } from "../step/override.ts";
import { checkValue } from "../step/parameter.ts";
import { type Declared, stepOfNode } from "./problems.ts";
import { nodesInCycles } from "./cycle.ts";
import { edgeProblem, mayBePattern } from "./edge_rules.ts";
import { missingValueWarnings } from "./missing_values.ts";
import { firstQuoted } from "../../../platform/text/display.ts";
import type { PipelineParts } from "./schema.ts";

/** Returns warnings about a pipeline without problems, with pointers into it. */
export function pipelineWarnings(parts: PipelineParts, declared: Declared): Problem[] {
  return [
    ...nodeWarnings(parts, declared),
    ...missingValueWarnings(parts, declared),
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
    // The rules of deployments are unknown.
    if ([source, target].some((end) => end?.node.type === "deployment")) return own;
    // A launch finds the inputs that match a pattern: for many edges it would take too long here.
    const isPattern = edge.source.type === "input" && mayBePattern(edge.source.key);
    const problem = edgeProblem(edge, {
      source: source && !isPattern ? stepOfNode(source, declared) : undefined,
      target: target && stepOfNode(target, declared),
    });
    if (problem === undefined) return own;
    const detail = `Cannot be launched: the edge ${problem.detail}`;
    return [...own, { pointer: `/edges/${index}${places[problem.end]}`, detail }];
  });
  const cycle = nodesInCycles(edges.flatMap((read) => read ? [read.edge] : []));
  if (cycle.size > 0) {
    const names = firstQuoted(cycle);
    const detail =
      `The edges form a cycle, so the pipeline cannot be launched: see the nodes ${names}`;
    warnings.push({ pointer: "/edges", detail });
  }
  return warnings;
}

function parameterWarnings({ nodes, parameters }: PipelineParts, declared: Declared): Problem[] {
  const warnings: Problem[] = [];
  const names = new Set<string>();
  const launched = new Map(nodes.map(({ name, read }) => {
    // A task takes the values of a list one by one.
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
      const detail = `Another item above has the name "${name}": this one replaces it`;
      warnings.push({ pointer: `${at}/name`, detail });
    }
    names.add(name);
  }
  return warnings;
}
