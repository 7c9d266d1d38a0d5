/**
 * The remote engine: runs executions as jobs of a cluster, through a {@linkcode Backend}.
 *
 * @module
 */
import type { Execution } from "../../store/records/executions.ts";
import { listJobs } from "../../store/records/jobs.ts";
import type { Engine, EngineLoad, EngineOutput, LogOptions, LogPage, Outage } from "../engine.ts";
import { LogWatchers } from "../shared/log_watchers.ts";
import { openExecutionsOf } from "../shared/open_executions.ts";
import type { JobDesk } from "./desk.ts";
import type { JobStages } from "./job_stage.ts";
import type { RemoteEngineOptions, RemoteWork } from "./remote_work.ts";

/** The options of a remote engine, before its back end is loaded. */
interface UnloadedOptions extends Omit<RemoteEngineOptions, "backendOf" | "stages"> {
  /** Loads what makes the back end of a project's settings. */
  loadBackend(): Promise<RemoteEngineOptions["backendOf"]>;
}

/** Runs executions as jobs of clusters. What does so is loaded when there is one. */
export class RemoteEngine implements Engine {
  readonly #options: UnloadedOptions;
  readonly #watchers = new LogWatchers();
  #work: Promise<RemoteWork> | undefined;
  #load: () => EngineLoad = () => ({ running: 0, waiting: 0 });
  #outages: () => readonly Outage[] = () => [];
  #isClosed = false;

  constructor(options: UnloadedOptions) {
    this.#options = options;
  }

  get load(): EngineLoad {
    return this.#load();
  }

  get outages(): readonly Outage[] {
    return this.#outages();
  }

  /** Waits for no cluster: one that cannot be reached holds up nothing. */
  async start(): Promise<void> {
    const { store, type } = this.#options;
    const open = openExecutionsOf(store, type, ["queued", "started", "stopping"]);
    for await (const _ of open) return await this.#begin();
    // Of an execution that has ended a job may be left.
    if ((await listJobs(store, type)).length > 0) await this.#begin();
  }

  submit(_execution: Execution): void {
    if (!this.#isClosed) void this.#begin();
  }

  async stop(executionId: string, reason?: string): Promise<boolean> {
    return await (await this.#loaded()).stop(executionId, reason);
  }

  async log(executionId: string, options?: LogOptions): Promise<LogPage> {
    return await (await this.#loaded()).log(executionId, options);
  }

  watchLog(executionId: string, onGrowth: () => void): () => void {
    return this.#watchers.add(executionId, onGrowth);
  }

  async output(executionId: string, path: string): Promise<EngineOutput | undefined> {
    return await (await this.#loaded()).output(executionId, path);
  }

  async desk(): Promise<JobDesk> {
    return (await this.#loaded()).desk;
  }

  async tidy(): Promise<void> {
    if (this.#options.hasDisk === false) return;
    const { removeLeftStages } = await import("./left_stages.ts");
    await removeLeftStages(this.#options);
  }

  async forget(executionId: string, part?: "log" | "outputs"): Promise<void> {
    await (await this.#loaded()).forget(executionId, part);
  }

  async close(deadline_ms: number): Promise<void> {
    this.#isClosed = true;
    await (await this.#work)?.close(deadline_ms);
  }

  /** Begins the work. An instance that follows and shows a log or an output leaves it to the leader. */
  async #begin(): Promise<void> {
    const work = await this.#loaded();
    // A service that stops begins nothing.
    if (this.#isClosed) return;
    work.start();
    work.wakeUp();
  }

  #loaded(): Promise<RemoteWork> {
    return this.#work ??= this.#make();
  }

  async #stages(): Promise<JobStages> {
    if (this.#options.hasDisk === false) {
      const { StoredStages } = await import("./stored_stages.ts");
      return new StoredStages(this.#options);
    }
    const { DiskStages } = await import("./disk_stages.ts");
    return new DiskStages(this.#options);
  }

  async #make(): Promise<RemoteWork> {
    const [{ RemoteWork }, backendOf, stages] = await Promise.all([
      import("./remote_work.ts"),
      this.#options.loadBackend(),
      this.#stages(),
    ]);
    const work = new RemoteWork({ ...this.#options, backendOf, stages }, this.#watchers);
    this.#load = () => work.load;
    this.#outages = () => work.outages;
    return work;
  }
}
