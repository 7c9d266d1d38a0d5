/**
 * Planning a pipeline: from what the project configuration file declares to what is to be done.
 * Whatever can be seen to go wrong is refused here, before anything starts.
 *
 * @module
 */
import { ActionError, messageOf, type Problem } from "../platform/errors.ts";
import { pointer } from "../platform/schema/pointer.ts";
import {
  findPipeline,
  findStep,
  overrideStep,
  type PipelineNode,
  type ResolvedCommit,
  stepOf,
} from "../projects/mod.ts";
import { quotedList } from "../platform/text/display.ts";
import type { InputFile } from "../store/records/executions.ts";
import type { PipelinePlan, PlannedNode } from "../store/records/pipelines.ts";
import { checkEdges } from "./edges.ts";
import { checkOrder } from "./order.ts";
import { checkLaunches } from "./dry_run.ts";

/** How many nodes a pipeline may have: how far each of them is must fit into one record. */
const NODES_MAX = 100;

/** What is to be planned. */
export interface PlanRequest {
  /** The name that the pipeline has in the project configuration file. */
  name: string;
  /** The state of the project's code that it is read at. */
  at: ResolvedCommit;
  /** Values of the pipeline's parameters in place of their defaults. */
  parameters?: Readonly<Record<string, unknown>>;
  /** The file that the payload becomes, and the input that takes it as `<node>.<input>`. */
  payload?: { target: string; file: InputFile };
  /** Finds the code of a node that names a commit of its own. */
  resolve(reference: string): Promise<ResolvedCommit>;
}

/**
 * Plans a pipeline.
 *
 * @throws {ActionError} with everything that keeps it from running
 */
export async function planPipeline(request: PlanRequest): Promise<PipelinePlan> {
  const problems: Problem[] = [];
  const plan = await tryPlan(request, problems);
  if (problems.length === 0) return plan;
  const details = problems.map(({ detail }) => detail).join("; ");
  throw new ActionError(`Cannot run pipeline "${request.name}": ${details}`);
}

/**
 * Returns everything that keeps a pipeline from running, with pointers into the settings of an
 * action that runs it.
 *
 * @throws {ActionError} if there is no pipeline of this name
 */
export async function planProblems(request: PlanRequest): Promise<Problem[]> {
  const problems: Problem[] = [];
  await tryPlan(request, problems);
  return problems.map(({ pointer, detail }) => {
    return { pointer, detail: `Cannot run pipeline "${request.name}": ${detail}` };
  });
}

/** Returns a plan that can be run if it adds no problems to a list. */
async function tryPlan(request: PlanRequest, problems: Problem[]): Promise<PipelinePlan> {
  const { name, at, resolve } = request;
  const pipeline = findPipeline(at.config, name);
  const refuse = (...details: string[]) => {
    for (const detail of details) problems.push({ pointer: "/pipeline", detail });
  };
  if (pipeline.nodes.size > NODES_MAX) {
    refuse(`it has ${pipeline.nodes.size} nodes, at most ${NODES_MAX} can be run`);
  }
  const nodes: PlannedNode[] = [];
  for (const node of pipeline.nodes.values()) {
    try {
      nodes.push(await planNode(node, node.commit === undefined ? at : await resolve(node.commit)));
    } catch (error) {
      refuse(`node "${node.name}": ${messageOf(error)}`);
    }
  }
  const plan: PipelinePlan = {
    nodes,
    edges: pipeline.edges,
    reuse_executions: pipeline.reuseExecutions,
    parameters: {},
  };
  // What is wrong with a node would only show again in the edges.
  if (problems.length === 0) {
    setParameters(plan, pipeline.parameters, request.parameters ?? {}, problems);
    refuse(...checkEdges(plan), ...checkOrder(plan));
    const detail = request.payload && setPayload(plan, request.payload);
    if (detail !== undefined) problems.push({ pointer: "/payload_input_name", detail });
  }
  if (problems.length === 0) refuse(...checkLaunches(plan));
  return plan;
}

/** The node that something is said of; those that are planned hold together, so there is one. */
export function nodeOf(plan: PipelinePlan, name: string): PlannedNode {
  const node = plan.nodes.find((each) => each.name === name);
  if (node === undefined) throw new RangeError(`Cannot find the node "${name}" in its plan`);
  return node;
}

/**
 * Puts the payload's file into the input that takes it, in place of what was there.
 *
 * @param target `<node>.<input>`, or `<step>.<input>` when only one node runs a step of that name;
 *   both names may have dots, so it is parted at the last one
 * @returns what keeps it from being put there, as the rest of a sentence
 */
export function setPayload(
  plan: PipelinePlan,
  { target, file }: { target: string; file: InputFile },
): string | undefined {
  const dot = target.lastIndexOf(".");
  const [owner, input] = [target.slice(0, Math.max(0, dot)), target.slice(dot + 1)];
  const byName = plan.nodes.filter(({ name }) => name === owner);
  const found = byName.length > 0
    ? byName
    : plan.nodes.filter((node) => stepOf(node.step).name === owner);
  const [node, another] = found;
  if (node === undefined) {
    return `its payload input "${target}" names no node; ` +
      `its nodes are ${quotedList(namesOf(plan.nodes))}`;
  }
  if (another !== undefined) {
    return `its payload input "${target}" names a step that several nodes run: ` +
      `name one of ${quotedList(namesOf(found))}`;
  }
  const { inputs } = stepOf(node.step);
  if (!inputs.has(input)) {
    return `node "${node.name}" has no input "${input}"; its inputs are ${
      quotedList(inputs.keys())
    }`;
  }
  node.inputs[input] = [file];
}

function namesOf(nodes: readonly PlannedNode[]): string[] {
  return nodes.map(({ name }) => name);
}

function planNode(node: PipelineNode, { commit, config }: ResolvedCommit): PlannedNode {
  if (node.type !== "execution" || node.step === undefined) {
    throw new ActionError(
      `it is a ${node.type} node, and Hooklaunch runs nodes of type execution only`,
    );
  }
  const written = overrideStep(findStep(config, node.step), node.override);
  return {
    name: node.name,
    commit,
    step: written,
    parameters: {},
    inputs: {},
    actions: node.actions,
    on_error: node.onError,
    edge_merge_mode: node.edgeMergeMode,
  };
}

function setParameters(
  plan: PipelinePlan,
  declared: ReturnType<typeof findPipeline>["parameters"],
  given: Readonly<Record<string, unknown>>,
  problems: Problem[],
): void {
  for (const name of Object.keys(given)) {
    if (declared.has(name)) continue;
    const detail = `it has no parameter "${name}"; its parameters are ${
      quotedList(declared.keys())
    }`;
    problems.push({ pointer: pointer("parameters", name), detail });
  }
  const values: [string, unknown][] = [];
  for (const { name, default: initial, targets } of declared.values()) {
    const value = Object.hasOwn(given, name) ? given[name] : initial;
    if (value === undefined) continue;
    values.push([name, value]);
    for (const { node, parameter } of targets) nodeOf(plan, node).parameters[parameter] = value;
  }
  plan.parameters = Object.fromEntries(values);
}
