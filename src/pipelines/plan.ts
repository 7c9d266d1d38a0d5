/**
 * Plans of pipelines. A plan is made of a pipeline of the project configuration file, and is
 * refused if it cannot work, before anything starts.
 *
 * @module
 */
import { ActionError, messageOf, type Problem } from "../platform/errors.ts";
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
import type { Retry } from "../store/records/execution_record.ts";
import type { PipelinePlan, PlannedNode } from "../store/records/pipelines.ts";
import type { EngineSettings } from "../store/records/projects.ts";
import { engineRefusals } from "../engines/mod.ts";
import { dryRun } from "./dry_run.ts";
import { checkCycles, checkEdges } from "./edges.ts";
import { declareParameters, setParameters } from "./parameters.ts";

/** The number of nodes of a pipeline: the states of all nodes must fit into one record. */
const NODES_MAX = 100;

/** A request for a plan. */
export interface PlanRequest {
  /** The pipeline's name in the project configuration file. */
  name: string;
  /** The engine of its executions. */
  engine: EngineSettings;
  /** The commit from which it is read. */
  at: ResolvedCommit;
  /** Values of the pipeline's parameters, and of its nodes' own as `<node>.<parameter>`. */
  parameters?: Readonly<Record<string, unknown>>;
  /** The metadata that its executions have at their start. */
  metadata?: Record<string, unknown> | undefined;
  /** The rule by which its executions are tried again. */
  retry?: Retry | undefined;
  /** The file that the payload becomes, and the input that takes it as `<node>.<input>`. */
  payload?: { target: string; file: InputFile };
  /** Resolves the commit of a node that names one. */
  resolve(reference: string): Promise<ResolvedCommit>;
}

/**
 * Plans a pipeline.
 *
 * @throws {ActionError} with every reason for which it cannot run
 */
export async function planPipeline(request: PlanRequest): Promise<PipelinePlan> {
  const problems: Problem[] = [];
  const plan = await tryPlan(request, problems);
  if (problems.length === 0) return plan;
  const details = problems.map(({ detail }) => detail).join("; ");
  throw new ActionError(`Cannot run pipeline "${request.name}": ${details}`);
}

/**
 * Returns every reason for which a pipeline cannot run, with pointers into the settings of an
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

/** Makes a plan, and adds its problems to a list. The plan can run if there are none. */
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
    ...(request.metadata && { metadata: request.metadata }),
    ...(request.retry && { retry: request.retry }),
  };
  // A problem of a node would cause others of its edges.
  if (problems.length === 0) {
    declareParameters(plan, pipeline.parameters);
    problems.push(...setParameters(plan, request.parameters));
    refuse(...checkEdges(plan), ...checkCycles(plan));
    const detail = request.payload && setPayload(plan, request.payload);
    if (detail !== undefined) problems.push({ pointer: "/payload_input_name", detail });
  }
  if (problems.length === 0) refuse(...dryRun(plan), ...refusedNodes(plan, request.engine));
  return plan;
}

/** Returns the problems of nodes whose steps ask for what an engine cannot give. */
export function refusedNodes({ nodes }: PipelinePlan, engine: EngineSettings): string[] {
  return nodes.flatMap(({ name, step }) =>
    engineRefusals(engine, stepOf(step)).map((detail) => `node "${name}": ${detail}`)
  );
}

/** Returns a node of a plan by its name. */
export function nodeOf(plan: PipelinePlan, name: string): PlannedNode {
  const node = plan.nodes.find((each) => each.name === name);
  if (node === undefined) throw new RangeError(`Cannot find the node "${name}" in its plan`);
  return node;
}

/**
 * Replaces the files of an input by the payload.
 *
 * @param target `<node>.<input>`, or `<step>.<input>` if only one node runs that step. Both names
 *   may have dots: the last dot separates them
 * @returns the problem if that is not possible, as the rest of a sentence
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
  // A gate that is misspelt must not be open.
  if (node.actionProblems) throw new ActionError(node.actionProblems.join("; "));
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
