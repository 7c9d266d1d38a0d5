/**
 * Reconciliation of a pipeline: compares its record with the states of its executions, and does the
 * next steps.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { ActionError, messageOf } from "../platform/errors.ts";
import { derivedId } from "../platform/ids.ts";
import { type Launch, launchStep, stepOf } from "../projects/mod.ts";
import {
  type Execution,
  executionWrites,
  getExecutions,
  hasEnded,
  initialMetadata,
} from "../store/records/executions.ts";
import { pipelineEndWrites } from "../store/records/notices.ts";
import {
  type NodeState,
  type Pipeline,
  type PipelinePlan,
  pipelineWrites,
  type PlannedNode,
} from "../store/records/pipelines.ts";
import type { EngineSettings } from "../store/records/projects.ts";
import {
  type Deciding,
  findReusable,
  findSame,
  reusableWrite,
  takeReusable,
  watchReusable,
} from "../store/records/reusable_executions.ts";
import type { Store } from "../store/store.ts";
import { firstAttempt } from "../store/records/attempts.ts";
import type { WrittenKeys } from "../store/commit/written_keys.ts";
import { launcherFields } from "../store/records/launchers.ts";
import { activeTrace, inSpan } from "../telemetry/spans.ts";
import { gather, type Gathered, noteOn, predecessorsOf } from "./edges.ts";
import { effectsAt, type Moment } from "./node_actions.ts";
import { endPipeline, hasNodeEnded, skipNode } from "./outcome.ts";
import { nodeOf } from "./plan.ts";
import { takenOver } from "./taken_over.ts";

/** The number of launches of a node with `on-error: retry`. */
const ATTEMPTS_MAX = 3;

/** The names in the conditions of a node's actions. */
type Scope = Pick<Execution, "metadata" | "parameters">;

/** Parts of the service that a reconciliation uses. */
interface ReconcileTools {
  store: Store;
  clock: Clock;
  /** The engine of the pipeline's executions; undefined when it is unknown, and none is launched. */
  engine: EngineSettings | undefined;
  /**
   * Submits an execution that is on disk. If the reconciliation fails after that, the next one does
   * not launch it again.
   */
  onLaunch(execution: Execution): void;
  /** Returns true if all outputs of an ended execution can be read. */
  hasOutputs(execution: Execution): Promise<boolean>;
}

/**
 * Reconciles a pipeline: changes its record, stores it and launches executions.
 *
 * @returns the executions to stop, once that is on disk
 */
export function reconcile(
  pipeline: Pipeline,
  plan: PipelinePlan,
  tools: ReconcileTools,
): Promise<Execution[]> {
  return new Reconciliation(pipeline, plan, tools).run();
}

class Reconciliation {
  readonly #pipeline: Pipeline;
  readonly #plan: PipelinePlan;
  readonly #tools: ReconcileTools;
  /** The latest execution of each node that has one. */
  readonly #executions = new Map<string, Execution>();
  /** Reused executions with the inputs of their nodes. */
  readonly #takenOver = new Map<string, Execution>();
  readonly #toStop: Execution[] = [];

  constructor(pipeline: Pipeline, plan: PipelinePlan, tools: ReconcileTools) {
    this.#pipeline = pipeline;
    this.#plan = plan;
    this.#tools = tools;
  }

  async run(): Promise<Execution[]> {
    const before = JSON.stringify(this.#pipeline);
    await this.#readExecutions();
    if (this.#pipeline.status === "created") this.#pipeline.status = "started";
    for (const node of this.#pipeline.nodes) await this.#follow(node);
    // Other nodes may wait for one that is launched, or that cannot be.
    for (let changes = true; changes;) {
      changes = false;
      for (const node of this.#pipeline.nodes) {
        if (node.status === "created" && await this.#consider(node)) changes = true;
      }
    }
    this.#stopRunning();
    this.#endIfOver();
    if (JSON.stringify(this.#pipeline) !== before) await this.#save([]);
    return this.#toStop;
  }

  async #readExecutions(): Promise<void> {
    const { nodes } = this.#pipeline;
    const ids = nodes.map(({ execution_id }) => execution_id).filter((id) => id !== undefined);
    const all = await getExecutions(this.#tools.store, ids);
    for (const { name, execution_id, reused } of nodes) {
      const found = all.find(({ id }) => id === execution_id);
      const execution = found && reused ? takenOver(found, this.#plan) : found;
      if (execution) this.#executions.set(name, execution);
    }
  }

  /** Applies the end of a node's execution to the node. */
  async #follow(node: NodeState): Promise<void> {
    if (node.status !== "started" && node.status !== "stopping") return;
    const execution = this.#executions.get(node.name);
    const gone = "Its execution is not there any more";
    if (execution === undefined) return this.#fail(node, gone, this.#knownOf(node));
    if (!hasEnded(execution.status)) return;
    if (execution.status === "complete") return await this.#complete(node, execution);
    const reason = execution.reason ?? `Its execution ended as ${execution.status}`;
    if (execution.status === "stopped") return this.#stopped(node, reason);
    const { on_error } = nodeOf(this.#plan, node.name);
    if (on_error === "retry" && node.attempts < ATTEMPTS_MAX && !this.#isEnding) {
      node.status = "created";
      node.reason = reason;
    } else this.#fail(node, reason, execution);
  }

  async #complete(node: NodeState, execution: Execution): Promise<void> {
    node.status = "complete";
    this.#apply("node-complete", node, execution);
    if (this.#plan.reuse_executions && !node.reused) await this.#save([reusableWrite(execution)]);
  }

  #stopped(node: NodeState, reason: string): void {
    node.status = "stopped";
    node.reason = reason;
    this.#endByFailure(node);
  }

  #fail(node: NodeState, reason: string, scope: Scope): void {
    node.status = "error";
    node.reason = reason;
    this.#apply("node-error", node, scope);
    this.#endByFailure(node);
  }

  /** Returns the values for the conditions of a node without an execution. */
  #knownOf({ name }: NodeState): Scope {
    return { metadata: {}, parameters: { ...nodeOf(this.#plan, name).parameters } };
  }

  #endByFailure({ name, status, reason }: NodeState): void {
    const { on_error } = nodeOf(this.#plan, name);
    if (on_error === "continue" || on_error === "stop-next") return;
    const how = status === "error" ? "failed" : "was stopped";
    endPipeline(this.#pipeline, "error", `Node "${name}" ${how}: ${reason}`);
  }

  /** Starts or skips a node that has not started; returns true if that has changed its status. */
  async #consider(node: NodeState): Promise<boolean> {
    if (this.#isEnding) {
      // A node that was to be launched again has failed.
      if (node.attempts > 0) node.status = "error";
      else skipNode(node, "The pipeline ended before");
      return true;
    }
    const before = predecessorsOf(this.#plan, node.name).map((name) => this.#stateOf(name));
    const failed = before.find((each) => this.#holdsUp(each));
    if (failed !== undefined) {
      skipNode(node, `Node "${failed.name}" did not complete`);
      return true;
    }
    if (!before.every(({ status }) => hasNodeEnded(status))) return false;
    await this.#start(node);
    return true;
  }

  async #start(node: NodeState): Promise<void> {
    const planned = nodeOf(this.#plan, node.name);
    const known = this.#knownOf(node);
    let gathered: Gathered;
    let launch: Launch;
    try {
      gathered = this.#gather(planned);
      Object.assign(known.parameters, gathered.parameters);
      launch = launchOf(planned, gathered);
    } catch (error) {
      return this.#fail(node, messageOf(error), known);
    }
    if (node.attempts === 0 && node.approval === undefined) {
      this.#apply("node-starting", node, { metadata: {}, parameters: launch.parameters });
    }
    if (node.status !== "created") return;
    if (this.#isEnding) return skipNode(node, "The pipeline ended before");
    const attributes = { "hooklaunch.node": node.name };
    const note = gathered.missing.length > 0 ? noteOn(gathered.missing) : undefined;
    await inSpan("node", { attributes }, () => this.#launch(node, planned, { launch, note }));
  }

  #gather(planned: PlannedNode): Gathered {
    return gather(this.#plan, planned, (name) => this.#sourceOf(name));
  }

  /**
   * Returns the execution of a node as the source of edges. A reused execution had the same files,
   * but their sources may be gone, such as the payload of an earlier run.
   */
  #sourceOf(name: string): Execution | undefined {
    const known = this.#takenOver.get(name);
    const execution = this.#executions.get(name);
    if (known || !execution || !this.#stateOf(name).reused) return known ?? execution;
    const planned = nodeOf(this.#plan, name);
    const source = { ...execution, inputs: launchOf(planned, this.#gather(planned)).inputs };
    this.#takenOver.set(name, source);
    return source;
  }

  async #launch(
    node: NodeState,
    planned: PlannedNode,
    { launch, note }: { launch: Launch; note: string | undefined },
  ): Promise<void> {
    const { store, clock, engine, hasOutputs } = this.#tools;
    if (engine === undefined) return; // The pipeline ends then.
    const { id, run_id, trigger_id, project, title } = this.#pipeline;
    const what = { commit: planned.commit, step: stepOf(planned.step).name, ...launch };
    if (node.attempts === 0) {
      using written = watchReusable(store);
      const earlier = await this.#earlier(node.name, what);
      const isWhole = earlier !== undefined && await hasOutputs(earlier);
      if (isWhole && await this.#reuse(node, earlier, written)) return;
    }
    const execution: Execution = {
      id: derivedId(id, node.name, node.attempts, "execution"),
      run_id,
      trigger_id,
      ...launcherFields(this.#pipeline),
      pipeline_id: id,
      pipeline_title: title,
      node: node.name,
      project,
      engine,
      title: node.name,
      ...what,
      ...activeTrace(),
      ...(note !== undefined && { note }),
      ...(this.#plan.retry && { retry: this.#plan.retry }),
      status: "queued",
      created_at: new Date(clock.now()).toISOString(),
      ...initialMetadata(this.#plan.metadata),
      outputs: [],
    };
    node.status = "started";
    node.execution_id = execution.id;
    node.attempts++;
    delete node.reason;
    this.#executions.set(node.name, execution);
    const first = firstAttempt(execution);
    try {
      // One commit has the pipeline's record, too: a node never launches an execution twice.
      await this.#save(executionWrites(first));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#executions.delete(node.name);
      delete node.execution_id;
      return this.#fail(node, error.message, execution);
    }
    this.#tools.onLaunch(first);
  }

  /** Returns an earlier execution that did the same, if there is one that the node may take. */
  async #earlier(name: string, what: Deciding): Promise<Execution | undefined> {
    const { kept, reuse_executions, fresh } = this.#plan;
    const [{ store }, { project }] = [this.#tools, this.#pipeline];
    const id = kept?.find(({ node }) => node === name)?.execution_id;
    let found = id === undefined ? undefined : await findSame(store, id, what);
    if (reuse_executions && !fresh) found ??= await findReusable(store, project, what);
    return found && takenOver(found, this.#plan);
  }

  /** Reuses an earlier execution for a node; returns false if cleanup has begun to remove it. */
  async #reuse(node: NodeState, execution: Execution, written: WrittenKeys): Promise<boolean> {
    node.status = "started";
    node.execution_id = execution.id;
    node.reused = true;
    // One commit has the pipeline's record, too, which tells cleanup that the execution is needed.
    const writes = pipelineWrites(structuredClone(this.#pipeline));
    if (!await takeReusable(this.#tools.store, execution, { written, writes })) {
      node.status = "created";
      delete node.execution_id;
      delete node.reused;
      return false;
    }
    this.#executions.set(node.name, execution);
    await this.#complete(node, execution);
    return true;
  }

  /** Applies the effects of a node's actions at a moment. */
  #apply(moment: Moment, node: NodeState, scope: Scope): void {
    const { actions } = nodeOf(this.#plan, node.name);
    for (const effect of effectsAt(actions, moment, scope)) {
      const why = `An action of node "${node.name}" did so at ${moment}`;
      if (effect === "stop-pipeline") endPipeline(this.#pipeline, "stopped", why);
      if (effect === "error-pipeline") endPipeline(this.#pipeline, "error", why);
      if (effect === "require-approval" && moment !== "node-error" && !this.#isEnding) {
        node.status = "awaiting_approval";
        node.approval = { when: moment };
      }
    }
  }

  #stopRunning(): void {
    if (!this.#isEnding) return;
    for (const node of this.#pipeline.nodes) {
      if (node.status === "awaiting_approval") {
        if (node.approval?.when === "node-complete") node.status = "complete";
        else skipNode(node, "The pipeline ended before");
      }
      const execution = this.#executions.get(node.name);
      if (node.status !== "started" && node.status !== "stopping") continue;
      node.status = "stopping";
      if (execution) this.#toStop.push(execution);
    }
  }

  #endIfOver(): void {
    const pipeline = this.#pipeline;
    if (!pipeline.nodes.every(({ status }) => hasNodeEnded(status))) return;
    const failed = pipeline.nodes.find((node) => this.#holdsUp(node));
    if (failed) endPipeline(pipeline, "error", `Node "${failed.name}": ${failed.reason}`);
    pipeline.status = pipeline.ending ?? "complete";
    pipeline.ended_at = new Date(this.#tools.clock.now()).toISOString();
    delete pipeline.ending;
  }

  /** Returns true if the end of a node blocks the nodes behind it. */
  #holdsUp({ name, status }: NodeState): boolean {
    if (status === "skipped") return true;
    const hasFailed = status === "error" || status === "stopped";
    return hasFailed && nodeOf(this.#plan, name).on_error !== "continue";
  }

  get #isEnding(): boolean {
    return this.#pipeline.ending !== undefined;
  }

  #stateOf(name: string): NodeState {
    const node = this.#pipeline.nodes.find((each) => each.name === name);
    if (node === undefined) throw new RangeError(`Cannot find the node "${name}"`);
    return node;
  }

  #save(more: ReturnType<typeof executionWrites>): Promise<void> {
    // A copy: the record changes while the commit waits.
    const pipeline = structuredClone(this.#pipeline);
    const told = pipelineEndWrites(this.#tools.store, pipeline);
    return this.#tools.store.committer.write([...more, ...pipelineWrites(pipeline), ...told]);
  }
}

function launchOf(
  planned: PlannedNode,
  { inputs, parameters, environment_variables, missing }: Gathered,
): Launch {
  const brought = Object.entries(inputs).map(([name, files]) =>
    [name, [
      ...Object.hasOwn(planned.inputs, name) ? planned.inputs[name] ?? [] : [],
      ...files,
    ]] as const
  );
  // The payload has replaced the defaults, whatever edges bring in addition.
  const keepDefaults = planned.edge_merge_mode === "append"
    ? Object.keys(inputs).filter((name) => !Object.hasOwn(planned.inputs, name))
    : [];
  try {
    return launchStep(stepOf(planned.step), {
      parameters: { ...planned.parameters, ...parameters },
      inputs: { ...planned.inputs, ...Object.fromEntries(brought) },
      environment_variables,
      appended: new Set(keepDefaults),
    });
  } catch (error) {
    throw new ActionError([messageOf(error), ...missing].join("; "));
  }
}
