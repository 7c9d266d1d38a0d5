/**
 * Pipelines on a real database, with an engine that the test plays: it sees what is handed over and says
 * how each execution ends.
 *
 * @module
 */
import { UnavailableError } from "../../src/platform/errors.ts";
import { newId } from "../../src/platform/ids.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Engine } from "../../src/engines/engine.ts";
import { Pipelines, planPipeline, type PlanRequest } from "../../src/pipelines/mod.ts";
import { readConfigFile } from "../../src/projects/mod.ts";
import {
  type Execution,
  type ExecutionStatus,
  getExecution,
  hasEnded,
  type OutputFile,
  saveExecution,
} from "../../src/store/records/executions.ts";
import {
  createPipelineWrites,
  getPipeline,
  type Pipeline,
  type PipelinePlan,
  type PlannedNode,
} from "../../src/store/records/pipelines.ts";
import { putProject } from "../../src/store/records/projects.ts";
import { openStore } from "../../src/store/open_store.ts";
import type { Store } from "../../src/store/store.ts";
import { eventually } from "../surroundings.ts";

/** How a played execution ends; it completes when nothing else is said. */
export interface PlayedEnd {
  status?: ExecutionStatus;
  reason?: string;
  metadata?: Record<string, unknown>;
  outputs?: readonly string[];
  /** What stands in the outputs; it tells their hashes apart. */
  bytes?: string;
}

/** The hash of a reference, as the tests' project would resolve it. */
export function hashOf(reference: string): string {
  return reference.padEnd(40, "0");
}

/** Plans a pipeline of a project configuration file; every commit has the same file. */
export function plan(
  yaml: string,
  name: string,
  request: Partial<PlanRequest> = {},
): Promise<PipelinePlan> {
  const at = (reference: string) => ({
    commit: hashOf(reference),
    config: readConfigFile(yaml, "valohai.yaml"),
  });
  const resolve = (reference: string) => Promise.resolve(at(reference));
  return planPipeline({
    name,
    at: at("main"),
    engine: { type: "local", runner: "process" },
    resolve,
    ...request,
  });
}

/** Pipelines whose executions the test plays. */
export class PipelineFixture implements AsyncDisposable {
  readonly store: Store;
  readonly #folder: string;
  #pipelines: Pipelines;
  /** Every execution that was handed over, in this order; one that is handed over twice is here twice. */
  readonly submitted: Execution[] = [];
  /** The ids of those that were asked to stop. */
  readonly stopped: string[] = [];
  /** The ids of those whose engine cannot stop them. */
  readonly unstoppable = new Set<string>();

  private constructor(store: Store, folder: string) {
    this.store = store;
    this.#folder = folder;
    this.#pipelines = this.#open();
  }

  /** Opens a database with the project `digits`. */
  static async make(): Promise<PipelineFixture> {
    const folder = await Deno.makeTempDir({ prefix: "hooklaunch-test-" });
    const store = await openStore(`${folder}/data`);
    await putProject(store, {
      name: "digits",
      directory: "/digits",
      config_file: "valohai.yaml",
      engine: { type: "local", runner: "process" },
    });
    return new PipelineFixture(store, folder);
  }

  get pipelines(): Pipelines {
    return this.#pipelines;
  }

  /** Launches a plan and answers the pipeline's id. */
  async launch(plan: PipelinePlan, fields: Partial<Pipeline> = {}): Promise<string> {
    const id = newId(Date.now());
    const pipeline = { ...this.pipelineOf(id, plan), ...fields };
    await this.store.committer.write(createPipelineWrites(pipeline, plan));
    this.#pipelines.begin(id);
    return id;
  }

  /** The record of a pipeline of which nothing has started. */
  pipelineOf(id: string, { nodes }: PipelinePlan): Pipeline {
    return {
      id,
      run_id: newId(Date.now()),
      trigger_id: newId(Date.now()),
      project: "digits",
      commit: hashOf("main"),
      name: "p",
      title: "p",
      status: "created",
      created_at: new Date().toISOString(),
      nodes: nodes.map(({ name, step }: PlannedNode) => {
        return { name, step: String(step.name), status: "created", attempts: 0 };
      }),
    };
  }

  /** Ends the service's pipelines and starts them again, as a restart does. */
  async restart(): Promise<void> {
    await this.#pipelines.close();
    this.#pipelines = this.#open();
    await this.#pipelines.start();
  }

  /** Waits until a node has launched an execution, or launched it so many times. */
  launched(id: string, node: string, attempt = 1): Promise<Execution> {
    return eventually(async () => {
      const state = (await this.record(id)).nodes.find(({ name }) => name === node);
      if (state === undefined || state.attempts < attempt) return undefined;
      return this.submitted.find((each) => each.id === state.execution_id);
    }, { what: `the start of node ${node}` });
  }

  /** Ends the execution of a node once it has started. */
  async end(id: string, node: string, end: PlayedEnd = {}, attempt = 1): Promise<Execution> {
    const { id: executionId } = await this.launched(id, node, attempt);
    return await this.finish(executionId, end);
  }

  /** Ends an execution. */
  async finish(executionId: string, end: PlayedEnd = {}): Promise<Execution> {
    const execution = await getExecution(this.store, executionId);
    if (execution === undefined) throw new Error(`There is no execution ${executionId}`);
    const { status = "complete", outputs = [], bytes = "", ...rest } = end;
    Object.assign(execution, {
      status,
      ...rest,
      outputs: outputs.map((path) => output(path, bytes)),
    });
    await this.store.committer.commit(saveExecution(execution));
    this.#pipelines.changed(execution);
    return execution;
  }

  /** Reads the record of a pipeline. */
  async record(id: string): Promise<Pipeline> {
    const pipeline = await getPipeline(this.store, id);
    if (pipeline === undefined) throw new Error(`There is no pipeline ${id}`);
    return pipeline;
  }

  /** Waits until a pipeline is as far as that. */
  until(id: string, holds: (pipeline: Pipeline) => boolean): Promise<Pipeline> {
    return eventually(async () => {
      const pipeline = await this.record(id);
      return holds(pipeline) ? pipeline : undefined;
    }, { what: `pipeline ${id} so far: ${holds}` });
  }

  /** Waits for the end of a pipeline. */
  ended(id: string): Promise<Pipeline> {
    return this.until(id, ({ ended_at }) => ended_at !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pipelines.close();
    await this.store.close();
    await Deno.remove(this.#folder, { recursive: true });
  }

  #open(): Pipelines {
    const engine: Pick<Engine, "submit" | "stop" | "output"> = {
      submit: (execution) => void this.submitted.push(execution),
      // Each has one byte.
      output: () => {
        const stream = new Response("x").body;
        return Promise.resolve(stream === null ? undefined : { size: 1, stream });
      },
      stop: async (id, reason = "") => {
        this.stopped.push(id);
        if (this.unstoppable.has(id)) throw new UnavailableError("The engine does not answer", 1);
        const execution = await getExecution(this.store, id);
        if (execution === undefined || hasEnded(execution.status)) return false;
        await this.finish(id, { status: "stopped", reason });
        return true;
      },
    };
    const { store } = this;
    // Pipelines use nothing else of an engine.
    const engines = {
      of: () => engine as Engine,
      stop: async ({ id }: Execution, reason?: string) => await engine.stop?.(id, reason) ?? false,
    };
    return new Pipelines({ store, clock: systemClock, engines });
  }
}

/** The states of the nodes, as `name status`. */
export function states({ nodes }: Pipeline): string[] {
  return nodes.map(({ name, status }) => `${name} ${status}`);
}

function output(path: string, bytes: string): OutputFile {
  return { path, size: 1, sha256: `hash of ${path} ${bytes}` };
}
