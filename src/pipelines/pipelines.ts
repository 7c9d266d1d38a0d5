/**
 * Running pipelines: each is reconciled when one of its executions has changed.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/clock.ts";
import type { Engines } from "../engines/mod.ts";
import { messageOf } from "../platform/errors.ts";
import { InTurn } from "../platform/waiting/in_turn.ts";
import { settleAll } from "../platform/waiting/promises.ts";
import { engineIdOf } from "../store/records/attempts.ts";
import { type Execution, hasEnded } from "../store/records/executions.ts";
import {
  getPipeline,
  getPlan,
  hasPipelineEnded,
  openPipelines,
  type Pipeline,
  type PipelinePlan,
  type PlannedNode,
  savePipeline,
} from "../store/records/pipelines.ts";
import { getProject } from "../store/records/projects.ts";
import type { Store } from "../store/store.ts";
import { inTrace } from "../telemetry/spans.ts";
import { endPipeline } from "./outcome.ts";

/** The pause after a reconciliation that failed. */
const RETRY_MS = 1_000;

const NO_ENGINE =
  "Its engine is unknown: an earlier version launched it, and its project was deleted";

const log = getLogger(["hooklaunch", "pipelines"]);

/** Parts of the service that pipelines use. */
interface PipelinesParts {
  store: Store;
  clock: Clock;
  engines: Pick<Engines, "of" | "stop">;
  /** Called for each pipeline that has ended, once that is on disk. */
  onEnd?(pipeline: Pipeline): void;
}

/** All pipelines of a service. */
export class Pipelines {
  readonly #parts: PipelinesParts;
  /** The work of each pipeline is done in sequence. */
  readonly #work = new InTurn();
  /** Pipelines whose reconciliation has not begun: it will see every change until then. */
  readonly #due = new Set<string>();
  /** Cancel the timers of reconciliations that failed. */
  readonly #retries = new Set<() => void>();
  #isClosing = false;

  constructor(parts: PipelinesParts) {
    this.#parts = parts;
  }

  /** Continues the pipelines that an earlier process has left. */
  async start(): Promise<void> {
    for (const id of await openPipelines(this.#parts.store)) this.#reconcileSoon(id);
  }

  /** Starts a pipeline that is on disk. */
  begin(pipelineId: string): void {
    this.#reconcileSoon(pipelineId);
  }

  /** Reacts to the end of an execution. */
  changed({ pipeline_id, status }: Execution): void {
    if (pipeline_id !== undefined && hasEnded(status)) this.#reconcileSoon(pipeline_id);
  }

  /**
   * Stops a pipeline: its running nodes are stopped, and the others are not started. Resolves when
   * that is on disk. The pipeline is `stopping` until its executions have ended.
   *
   * @returns false if it has ended, or is not known
   */
  stop(pipelineId: string): Promise<boolean> {
    return this.#change(pipelineId, (pipeline) => {
      endPipeline(pipeline, "stopped", "Stopped by request");
      return true;
    }, false);
  }

  /**
   * Approves nodes that wait for approval. Resolves when that is on disk.
   *
   * @param node the node to approve; all that wait if undefined
   * @returns the names of the approved nodes
   */
  approve(pipelineId: string, node?: string): Promise<string[]> {
    return this.#change(pipelineId, (pipeline) => {
      // A stopping pipeline starts no node.
      if (pipeline.ending !== undefined) return [];
      const approved = pipeline.nodes.filter(({ name, status }) =>
        status === "awaiting_approval" && (node === undefined || name === node)
      );
      for (const each of approved) {
        each.status = each.approval?.when === "node-complete" ? "complete" : "created";
        const approved_at = new Date(this.#parts.clock.now()).toISOString();
        each.approval = { when: "node-starting", ...each.approval, approved_at };
      }
      return approved.map(({ name }) => name);
    }, []);
  }

  /** Starts nothing more, and waits for the work that has begun. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const cancel of this.#retries) cancel();
    await this.#work.settled();
  }

  /** Changes the record of a pipeline that has not ended, and reconciles it. */
  #change<T>(id: string, change: (pipeline: Pipeline) => T, otherwise: T): Promise<T> {
    const { store } = this.#parts;
    return this.#work.run(id, async () => {
      const pipeline = await getPipeline(store, id);
      if (pipeline === undefined || hasPipelineEnded(pipeline.status)) return otherwise;
      const result = change(pipeline);
      await store.committer.commit(savePipeline(pipeline));
      this.#reconcileSoon(id);
      return result;
    });
  }

  /** Reconciles a pipeline soon. */
  #reconcileSoon(id: string): void {
    if (this.#isClosing || this.#due.has(id)) return;
    this.#due.add(id);
    this.#work.run(id, async () => {
      this.#due.delete(id);
      if (!this.#isClosing) await this.#reconcile(id);
    }).catch((error) => {
      log.error("Cannot continue pipeline {pipeline_id}, trying again: {error}", {
        pipeline_id: id,
        error: messageOf(error),
      });
      this.#retry(id);
    });
  }

  async #reconcile(id: string): Promise<void> {
    const { store } = this.#parts;
    const [pipeline, plan] = await Promise.all([getPipeline(store, id), getPlan(store, id)]);
    if (pipeline === undefined || hasPipelineEnded(pipeline.status)) return;
    await inTrace(
      pipeline.traceparent,
      () => this.#reconcileIn(pipeline, plan ?? noPlanOf(pipeline)),
    );
  }

  async #reconcileIn(pipeline: Pipeline, plan: PipelinePlan): Promise<void> {
    const { store, clock, engines, onEnd } = this.#parts;
    const engine = pipeline.engine ?? (await getProject(store, pipeline.project))?.engine;
    if (engine === undefined) endPipeline(pipeline, "error", NO_ENGINE);
    const { reconcile } = await import("./reconcile.ts");
    const onLaunch = (execution: Execution) => engines.of(execution.engine.type).submit(execution);
    const hasOutputs = (execution: Execution) => this.#hasOutputs(execution);
    const tools = { store, clock, engine, onLaunch, hasOutputs };
    const toStop = await reconcile(pipeline, plan, tools);
    const why = `Its pipeline ended: ${pipeline.reason}`;
    // All at once: one engine may not answer.
    await settleAll(toStop.map((execution) => engines.stop(execution, why)));
    if (hasPipelineEnded(pipeline.status)) {
      const { id: pipeline_id, run_id, project, status } = pipeline;
      const details = { pipeline_id, run_id, project, status };
      log.info("Pipeline {pipeline_id} ended: {status}", details);
      onEnd?.(pipeline);
    }
  }

  /** Returns true if all outputs of an execution are there, can be read and have the right sizes. */
  async #hasOutputs(execution: Execution): Promise<boolean> {
    const { engine, outputs, outputs_removed_at } = execution;
    if (outputs_removed_at !== undefined) return false;
    for (const { path, size } of outputs) {
      const output = await this.#parts.engines.of(engine.type).output(engineIdOf(execution), path)
        .catch(() => undefined);
      await output?.stream.cancel();
      if (output?.size !== size) return false;
    }
    return true;
  }

  #retry(id: string): void {
    if (this.#isClosing) return;
    const cancel = this.#parts.clock.after(RETRY_MS, () => {
      this.#retries.delete(cancel);
      this.#reconcileSoon(id);
    });
    this.#retries.add(cancel);
  }
}

/**
 * Ends a pipeline whose plan is damaged, and returns a plan with which its executions are stopped.
 */
function noPlanOf(pipeline: Pipeline): PipelinePlan {
  endPipeline(pipeline, "error", "Its plan is damaged: its next nodes are unknown");
  const nodes = pipeline.nodes.map(({ name }): PlannedNode => ({
    name,
    commit: pipeline.commit,
    step: {},
    parameters: {},
    inputs: {},
    actions: [],
    on_error: "stop-all",
    edge_merge_mode: "replace",
  }));
  return { nodes, edges: [], reuse_executions: false, parameters: {} };
}
