/**
 * Pipelines that are under way: each takes a turn when something of it has changed.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/clock.ts";
import type { Engines } from "../engines/mod.ts";
import { messageOf } from "../platform/errors.ts";
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
import { endPipeline } from "./ending.ts";

/** How long after a turn that failed there is another. */
const RETRY_MS = 1_000;

const log = getLogger(["hooklaunch", "pipelines"]);

/** What pipelines work with. */
export interface PipelinesParts {
  store: Store;
  clock: Clock;
  engines: Pick<Engines, "of">;
  /** Told of each pipeline that has ended, once that is on disk. */
  onEnd?(pipeline: Pipeline): void;
}

/** All pipelines of a service. */
export class Pipelines {
  readonly #parts: PipelinesParts;
  /** The last piece of work of each pipeline that has some: they come one after another. */
  readonly #work = new Map<string, Promise<unknown>>();
  /**
   * Pipelines that have a turn before them, which will see whatever has changed until it begins.
   */
  readonly #due = new Set<string>();
  readonly #retries = new Set<ReturnType<typeof setTimeout>>();
  #isClosing = false;

  constructor(parts: PipelinesParts) {
    this.#parts = parts;
  }

  /** Goes on with the pipelines that an earlier service has left. */
  async start(): Promise<void> {
    for (const id of await openPipelines(this.#parts.store)) this.#touch(id);
  }

  /** Begins with a pipeline that is on disk. */
  begin(pipelineId: string): void {
    this.#touch(pipelineId);
  }

  /** Takes note of a change of an execution. */
  changed({ pipeline_id, status }: Execution): void {
    if (pipeline_id !== undefined && hasEnded(status)) this.#touch(pipeline_id);
  }

  /**
   * Stops a pipeline: its running nodes are stopped, the others are not started. Resolves when that
   * is on disk; the pipeline is `stopping` until its executions have ended.
   *
   * @returns false when it had ended already, or is not known
   */
  stop(pipelineId: string): Promise<boolean> {
    return this.#change(pipelineId, (pipeline) => {
      endPipeline(pipeline, "stopped", "Stopped by request");
      return true;
    }, false);
  }

  /**
   * Lets nodes go on that wait for approval. Resolves when that is on disk.
   *
   * @param node the only node that is approved; all that wait when absent
   * @returns the names of the nodes that were approved; empty when none waits
   */
  approve(pipelineId: string, node?: string): Promise<string[]> {
    return this.#change(pipelineId, (pipeline) => {
      // What is being stopped starts no node any more.
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

  /** Begins nothing more, and waits for the turns that are under way. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const timer of this.#retries) clearTimeout(timer);
    await Promise.all(this.#work.values());
  }

  /** Changes the record of a pipeline that has not ended, and gives it a turn. */
  #change<T>(id: string, change: (pipeline: Pipeline) => T, otherwise: T): Promise<T> {
    const { store } = this.#parts;
    return this.#queue(id, async () => {
      const pipeline = await getPipeline(store, id);
      if (pipeline === undefined || hasPipelineEnded(pipeline.status)) return otherwise;
      const result = change(pipeline);
      await store.committer.commit(savePipeline(pipeline));
      this.#touch(id);
      return result;
    });
  }

  /** Gives a pipeline a turn soon. */
  #touch(id: string): void {
    if (this.#isClosing || this.#due.has(id)) return;
    this.#due.add(id);
    this.#queue(id, async () => {
      this.#due.delete(id);
      if (!this.#isClosing) await this.#turn(id);
    }).catch((error) => {
      log.error("Cannot go on with pipeline {pipeline_id}, trying again: {error}", {
        pipeline_id: id,
        error: messageOf(error),
      });
      this.#retry(id);
    });
  }

  async #turn(id: string): Promise<void> {
    const { store } = this.#parts;
    const [pipeline, plan] = await Promise.all([getPipeline(store, id), getPlan(store, id)]);
    if (pipeline === undefined || hasPipelineEnded(pipeline.status)) return;
    await inTrace(pipeline.traceparent, () => this.#goOn(pipeline, plan ?? noPlanOf(pipeline)));
  }

  async #goOn(pipeline: Pipeline, plan: PipelinePlan): Promise<void> {
    const { store, clock, engines, onEnd } = this.#parts;
    // A project that was deleted meanwhile leaves no engine to ask for.
    const engine = (await getProject(store, pipeline.project))?.engine ?? { type: "local" };
    const { Turn } = await import("./reconcile.ts");
    const onLaunch = (execution: Execution) => engines.of(execution.engine.type).submit(execution);
    const hasOutputs = (execution: Execution) => this.#hasOutputs(execution);
    const tools = { store, clock, engine, onLaunch, hasOutputs };
    const toStop = await new Turn(pipeline, plan, tools).take();
    for (const { id, engine } of toStop) {
      await engines.of(engine.type).stop(id, `Its pipeline ended: ${pipeline.reason}`);
    }
    if (hasPipelineEnded(pipeline.status)) {
      const { id: pipeline_id, run_id, project, status } = pipeline;
      const details = { pipeline_id, run_id, project, status };
      log.info("Pipeline {pipeline_id} ended: {status}", details);
      onEnd?.(pipeline);
    }
  }

  /** Whether all that an execution has left can be read, as far as sizes tell. */
  async #hasOutputs({ id, engine, outputs }: Execution): Promise<boolean> {
    for (const { path, size } of outputs) {
      const output = await this.#parts.engines.of(engine.type).output(id, path)
        .catch(() => undefined);
      await output?.stream.cancel();
      if (output?.size !== size) return false;
    }
    return true;
  }

  /** Does a piece of work of a pipeline after those that came before. */
  #queue<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#work.get(id) ?? Promise.resolve();
    const result = before.then(work);
    const over = result.catch(() => {}).finally(() => {
      if (this.#work.get(id) === over) this.#work.delete(id);
    });
    this.#work.set(id, over);
    return result;
  }

  #retry(id: string): void {
    if (this.#isClosing) return;
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      this.#touch(id);
    }, RETRY_MS);
    this.#retries.add(timer);
  }
}

/** What stands in for a plan that is damaged: the pipeline ends, and what runs of it is stopped. */
function noPlanOf(pipeline: Pipeline): PipelinePlan {
  endPipeline(pipeline, "error", "Its plan is damaged: nobody can tell what is to be done");
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
