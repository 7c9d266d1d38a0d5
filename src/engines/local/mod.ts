/**
 * The local engine: runs executions on this machine, as processes or in containers. A bounded number
 * runs at once, the others wait in the database, and both survive a restart of the service.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { join, resolve } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import { ConflictError, messageOf, UnavailableError } from "../../platform/errors.ts";
import { keepNewest } from "../../platform/lru.ts";
import { pause } from "../../platform/waiting/pause.ts";
import {
  type Execution,
  getExecution,
  getExecutions,
  openExecutions,
  saveExecution,
} from "../../store/records/executions.ts";
import type { Store } from "../../store/store.ts";
import { inTrace } from "../../telemetry/spans.ts";
import { within } from "../../platform/waiting/within.ts";
import type { Engine, EngineLoad, LogOptions, LogPage } from "../engine.ts";
import { stopped, writeEnd } from "./ending.ts";
import type { ExecutionRun } from "./execution_run.ts";
import type { RemoteFiles } from "./inputs/mod.ts";
import { Leftovers } from "./orphan_processes.ts";
import { readLog } from "../shared/log_file.ts";
import { openOutput } from "./outputs.ts";
import { lookAtMachine, type Machine } from "./processes.ts";
import type { RunContext, RunSettings } from "./run_context.ts";
import { removeLeftoverContainers } from "./runners/container_leftovers.ts";
import { Waiting } from "./queue.ts";
import { WorkFolder } from "./work_folder.ts";

const SETTINGS: RunSettings = {
  logBytesMax: 64 * 1024 * 1024,
  outputsMax: 1_000,
  grace_ms: 10_000,
  poll_ms: 150,
  disk_ms: 5_000,
  pull_ms: 30 * 60_000,
  reach_ms: 20_000,
};
const WAITING_MAX = 1_000;
/** How many executions are remembered not to be started again, whoever hands them over. */
const TAKEN_MAX = 10_000;
const RETRY_MS = 1_000;
const LET_GO_MS = 1_000;

const log = getLogger(["hooklaunch", "engine"]);

/** What the local engine works with. */
export interface LocalEngineOptions {
  store: Store;
  /** The code of projects. */
  projects: Pick<RunContext, "checkout">;
  clock: Clock;
  /** The service's data folder; work folders are in `executions/<id>/` below it. */
  dataFolder: string;
  /** How many executions run at once. Default: one a processor. */
  executionsMax?: number;
  /** How many of those that wait are held in memory. Default 1,000. */
  waitingMax?: number;
  settings?: Partial<RunSettings>;
  /** Told of each change of a record, after it is stored. */
  onChange?: (execution: Execution) => void;
}

/** Runs executions on this machine. */
export class LocalEngine implements Engine {
  readonly #options: LocalEngineOptions;
  readonly #root: string;
  readonly #executionsMax: number;
  readonly #waiting: Waiting;
  readonly #runs = new Map<string, { run: Promise<ExecutionRun>; over: Promise<void> }>();
  /** Those whose commands run or are about to. */
  readonly #places = new Set<string>();
  readonly #taken = new Set<string>();
  readonly #leftovers = new Leftovers();
  #leftoverContainers: Promise<void> = Promise.resolve();
  readonly #closing = new AbortController();
  #remote: RemoteFiles | undefined;
  #machine: Machine | undefined;
  #refill: Promise<void> | undefined;

  constructor(options: LocalEngineOptions) {
    this.#options = options;
    this.#root = resolve(join(options.dataFolder, "executions"));
    this.#executionsMax = Math.max(1, options.executionsMax ?? navigator.hardwareConcurrency);
    this.#waiting = new Waiting(options.waitingMax ?? WAITING_MAX);
  }

  /** How many executions run or are ending, and how many of those that wait are in memory. */
  get load(): EngineLoad {
    return { running: this.#runs.size, waiting: this.#waiting.size };
  }

  async start(): Promise<void> {
    await Deno.mkdir(this.#root, { recursive: true, mode: 0o700 });
    const machine = await lookAtMachine();
    const started: string[] = [];
    for await (const { id, status } of openExecutions(this.#options.store)) {
      if (status === "started" || status === "stopping") started.push(id);
    }
    this.#machine = machine;
    const { store } = this.#options;
    const { signal } = this.#closing;
    this.#leftoverContainers = removeLeftoverContainers({ store, root: this.#root, signal });
    for (const execution of await getExecutions(store, started)) {
      this.#run(execution, (run) => run.takeOver());
    }
    await this.#readWaiting();
    this.#startNext();
  }

  submit(execution: Execution): void {
    if (execution.status !== "queued" || this.#taken.has(execution.id)) return;
    this.#waiting.add(execution);
    this.#startNext();
  }

  async stop(executionId: string, reason?: string): Promise<boolean> {
    const ending = stopped(reason);
    const running = this.#runs.get(executionId);
    if (running) return await (await running.run).stop(ending);
    if (this.#taken.has(executionId)) return false;
    const execution = this.#waiting.remove(executionId) ??
      await getExecution(this.#options.store, executionId);
    // It may have been started meanwhile.
    if (this.#taken.has(executionId)) return await this.stop(executionId, reason);
    if (execution?.status !== "queued") return false;
    // From here on nobody starts it.
    this.#take(executionId);
    this.#waiting.remove(executionId);
    const at_ms = this.#options.clock.now();
    writeEnd(execution, { ending, at_ms });
    return await this.#save(execution);
  }

  async log(executionId: string, options?: LogOptions): Promise<LogPage> {
    return await readLog(this.#folderOf(executionId).log(), options);
  }

  output(executionId: string, path: string): Promise<Deno.FsFile | undefined> {
    return openOutput(this.#folderOf(executionId).outputs, path);
  }

  async forget(executionId: string): Promise<void> {
    const running = this.#runs.get(executionId);
    if ((await running?.run)?.hasEnded === false || this.#waiting.has(executionId)) {
      throw new ConflictError(`Cannot forget execution ${executionId}: it has not ended`);
    }
    await running?.over;
    const folder = this.#folderOf(executionId);
    await folder.remove();
    if (!folder.exists()) return;
    // Parts of it are not the service's user's, because nobody could give them back at the end.
    const execution = await getExecution(this.#options.store, executionId);
    if (execution) await (await this.#newRun(execution)).clear();
    await folder.remove();
  }

  async close(deadline_ms: number): Promise<void> {
    this.#closing.abort();
    const runs = [...this.#runs.values()];
    const over = Promise.all(runs.map((each) => each.over));
    for (const { run } of runs) (await run).leaveInputs();
    await within(deadline_ms, over);
    for (const { run } of runs) (await run).letGo();
    // What is being prepared may still take long; it is not started any more.
    await within(LET_GO_MS, over);
    await Promise.all([
      this.#refill,
      this.#leftovers.close(),
      this.#leftoverContainers,
      this.#remote?.close(),
    ]);
  }

  #folderOf(executionId: string): WorkFolder {
    return new WorkFolder(this.#root, executionId);
  }

  #startNext(): void {
    if (this.#machine === undefined || this.#closing.signal.aborted) return;
    while (this.#places.size < this.#executionsMax) {
      const execution = this.#waiting.take();
      if (execution === undefined) break;
      // It may have been stopped after it was read, before it was among those that wait.
      if (this.#taken.has(execution.id)) continue;
      this.#run(execution, (run) => run.start());
    }
    if (this.#waiting.wantsMore) {
      this.#refill ??= this.#readMore();
    }
  }

  async #readMore(): Promise<void> {
    try {
      await this.#readWaiting();
    } catch (error) {
      log.error("Cannot read the executions that wait: {error}", { error: messageOf(error) });
      await pause(RETRY_MS, this.#closing.signal);
    }
    this.#refill = undefined;
    this.#startNext();
  }

  #run(execution: Execution, begin: (run: ExecutionRun) => Promise<void>): void {
    const { id, traceparent } = execution;
    this.#take(id);
    this.#places.add(id);
    // The next one need not wait until the end of this one is stored.
    const onCommandOver = () => this.#leavePlace(id);
    const run = this.#newRun(execution, onCommandOver);
    const over = inTrace(traceparent, async () => await begin(await run)).finally(() => {
      this.#runs.delete(id);
      this.#leavePlace(id);
    });
    this.#runs.set(id, { run, over });
  }

  #leavePlace(executionId: string): void {
    this.#places.delete(executionId);
    this.#startNext();
  }

  async #newRun(execution: Execution, onCommandOver?: () => void): Promise<ExecutionRun> {
    const running = await import("./running.ts");
    const context = this.#context(running);
    return new running.ExecutionRun(execution, {
      ...context,
      ...(onCommandOver && { onCommandOver }),
    });
  }

  #context({ RemoteFiles, runnerOf }: typeof import("./running.ts")): RunContext {
    const { store, clock, projects, dataFolder } = this.#options;
    const settings = { ...SETTINGS, ...this.#options.settings };
    const root = this.#root;
    // Nothing runs before `start` has looked at the machine.
    const machine = this.#machine ?? { bootId: "", shell: "/bin/sh", beginSession: [] };
    const leftBehind = (session: number) => this.#leftovers.add(session);
    const folder = resolve(join(dataFolder, "input_cache"));
    this.#remote ??= new RemoteFiles({ folder, clock });
    return {
      store,
      clock,
      checkout: (...args) => projects.checkout(...args),
      root,
      remote: this.#remote,
      bootId: machine.bootId,
      settings,
      runnerOf: (execution) => runnerOf(execution, { ...settings, root, machine, leftBehind }),
      save: (execution) => this.#save(execution),
    };
  }

  /** Remembers that an execution is dealt with here. */
  #take(executionId: string): void {
    this.#taken.add(executionId);
    keepNewest(this.#taken, TAKEN_MAX);
  }

  /** Reads the oldest of those that wait in the database. */
  #readWaiting(): Promise<void> {
    const { store, waitingMax = WAITING_MAX } = this.#options;
    return this.#waiting.refill(async () => {
      const ids: string[] = [];
      let isAll = true;
      for await (const { id, status } of openExecutions(store)) {
        if (status !== "queued" || this.#taken.has(id)) continue;
        isAll = ids.length < waitingMax;
        if (!isAll) break;
        ids.push(id);
      }
      const found = await getExecutions(store, ids);
      const executions = found.filter(({ id, status }) =>
        status === "queued" && !this.#taken.has(id)
      );
      return { executions, isAll };
    });
  }

  /** Stores a record; while the database cannot, tries again until the service stops. */
  async #save(execution: Execution): Promise<boolean> {
    const { store, onChange } = this.#options;
    const { status } = execution;
    for (;;) {
      try {
        await store.committer.commit(saveExecution(execution));
        // What it has become meanwhile is told when that is stored.
        if (execution.status === status) onChange?.(execution);
        return true;
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error;
        const { id: execution_id, run_id, project } = execution;
        const details = { execution_id, run_id, project, error: error.message };
        log.error("Cannot store execution {execution_id}, trying again: {error}", details);
      }
      if (!await pause(RETRY_MS, this.#closing.signal)) return false;
    }
  }
}
