/**
 * Dry runs of plans: each node is launched with stand-ins for the files and values that edges will
 * bring. A plan that cannot work is refused before anything starts.
 *
 * @module
 */
import { messageOf } from "../platform/errors.ts";
import { type Launch, launchStep, type Step, stepOf } from "../projects/mod.ts";
import { type InputFile, NEW_EXECUTION_BYTES_MAX } from "../store/records/executions.ts";
import type { PipelinePlan, PlannedNode } from "../store/records/pipelines.ts";
import { recordBytes } from "../store/records/record_size.ts";

/** The URL of the stand-in for a file that an edge brings: no file has it. */
export const EDGE_URL = "edge:";
const STAND_IN: InputFile = { name: "file", url: EDGE_URL };

/** Returns the problems of nodes that cannot be launched, whatever the edges bring. */
export function dryRun(plan: PipelinePlan): string[] {
  return plan.nodes.flatMap((node) => {
    try {
      const bytes = recordBytes(dryLaunch(plan, node));
      const bytesMax = NEW_EXECUTION_BYTES_MAX;
      return bytes > bytesMax
        ? [`node "${node.name}": its execution takes ${bytes} bytes, at most ${bytesMax} fit`]
        : [];
    } catch (error) {
      return [`node "${node.name}": ${messageOf(error)}`];
    }
  });
}

/**
 * Launches a node with stand-ins for what edges will bring.
 *
 * @throws {ActionError} when it cannot be launched, whatever they bring
 */
export function dryLaunch(plan: PipelinePlan, node: PlannedNode): Launch {
  return launchStep(withoutEdges(plan, node), {
    parameters: node.parameters,
    inputs: { ...broughtFiles(plan, node), ...node.inputs },
    environment_variables: broughtVariables(plan, node),
  });
}

/** Launches a node as {@linkcode dryLaunch} does, without the variables that edges set. */
export function launchBeforeEdges(plan: PipelinePlan, node: PlannedNode): Launch {
  const launch = dryLaunch(plan, node);
  for (const name of keysOf(plan, node, "environment-variable")) {
    delete launch.environment_variables[name];
  }
  return launch;
}

/**
 * Returns the step of a node for a launch without its edges: parameters that edges bring are
 * optional and have no default, and inputs whose URLs contain them are optional.
 */
function withoutEdges(plan: PipelinePlan, node: PlannedNode): Step {
  const step = stepOf(node.step);
  const brought = keysOf(plan, node, "parameter");
  const parameters = Array.from(
    step.parameters,
    ([name, parameter]) =>
      [
        name,
        brought.includes(name) ? { ...parameter, optional: true, default: undefined } : parameter,
      ] as const,
  );
  const inputs = Array.from(step.inputs, ([name, input]) => {
    const isUnresolved = input.defaults.some((url) =>
      brought.some((parameter) => url.includes(`{parameter:${parameter}}`))
    );
    return [name, isUnresolved ? { ...input, optional: true } : input] as const;
  });
  return { ...step, parameters: new Map(parameters), inputs: new Map(inputs) };
}

function broughtFiles(plan: PipelinePlan, node: PlannedNode): Record<string, InputFile[]> {
  return Object.fromEntries(keysOf(plan, node, "input").map((key) => [key, [STAND_IN]]));
}

function broughtVariables(plan: PipelinePlan, node: PlannedNode): Record<string, string> {
  return Object.fromEntries(keysOf(plan, node, "environment-variable").map((key) => [key, "x"]));
}

function keysOf({ edges }: PipelinePlan, { name }: PlannedNode, type: string): string[] {
  return edges.filter(({ target }) => target.node === name && target.type === type)
    .map(({ target }) => target.key);
}
