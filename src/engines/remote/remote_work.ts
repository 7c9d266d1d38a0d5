/**
 * The work of a remote engine. All state is in the records of executions and jobs. They are advanced by ticks, and
 * by what agents report at the desk. An idle service does not hold this file in memory, nor most of its folder.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { delay } from "@std/async/delay";
import { artifactKeys } from "../../artifacts/keys.ts";
import { ConflictError, messageOf } from "../../platform/errors.ts";
import { type Execution, getExecution, hasEnded } from "../../store/records/executions.ts";
import { getJob, removeJob, removeJobLog } from "../../store/records/jobs.ts";
import type { EngineSettings } from "../../store/records/projects.ts";
import type {
  EngineLoad,
  EngineOutput,
  EngineParts,
  LogOptions,
  LogPage,
  Outage,
} from "../engine.ts";
import { stopped, writeEnd } from "../shared/execution_end.ts";
import type { LogWatchers } from "../shared/log_watchers.ts";
import { agentScript } from "./agent.ts";
import { type Backend, LaunchRefusedError } from "./backend.ts";
import { REMOTE_SETTINGS, RemoteContext, type RemoteSettings } from "./context.ts";
import { close, decidedEnding, decideEnding, isUnexplained } from "./ends.ts";
import { EngineDesk } from "./job_desk.ts";
import { JobFiles, type JobFilesOptions } from "./job_files.ts";
import { readJobLog } from "./job_log.ts";
import type { JobStages } from "./job_stage.ts";
import { JobMetadata } from "./job_metadata.ts";
import { Ticker } from "./ticker.ts";

/** An agent that is heard more seldom than this does not end soon. */
const HEARD_MS = 3_000;
const POLL_MS = 50;

const log = getLogger(["hooklaunch", "engine"]);

/** The parts of a remote engine. */
export interface RemoteEngineOptions extends EngineParts {
  /** The name of the engine in projects and executions. */
  type: string;
  /** Makes the back end of a project's settings. */
  backendOf(settings: EngineSettings): Backend;
  /** Returns what runs a command in place of the machine, with `{image}` and `{folder}` in it. */
  wrapOf?(execution: Execution): string | undefined;
  settings?: Partial<RemoteSettings>;
  stages: JobStages;
}

/** Runs executions as jobs of clusters. */
export class RemoteWork {
  readonly desk: EngineDesk;
  readonly #context: RemoteContext;
  readonly #files: JobFiles;
  readonly #ticker: Ticker;
  readonly #closing = new AbortController();
  #wake: () => void = () => {};
  #isDue = false;
  #ticking: Promise<void> | undefined;

  constructor(options: RemoteEngineOptions, watchers: LogWatchers) {
    const { type, store, artifacts, clock, onChange, projects, openOutput, stages } = options;
    const settings = { ...REMOTE_SETTINGS, ...options.settings };
    const context = new RemoteContext({
      ...{ type, store, artifacts, clock, settings, onChange, watchers },
      secrets: options.secrets,
    });
    const checkout = projects.checkout.bind(projects);
    const jobCode: JobFilesOptions["jobCode"] = async (...code) =>
      await projects.jobCode?.(...code);
    const { wrapOf = () => undefined, secrets } = options;
    const files = new JobFiles({
      ...{ store, clock, openOutput, stages },
      ...{ checkout, jobCode, settings, wrapOf, secrets },
    });
    const metadata = new JobMetadata(context);
    const { backendOf, agent } = options;
    const script = (executionId: string, token: string) => {
      if (agent !== undefined) return agentScript({ ...agent, executionId, token });
      throw new LaunchRefusedError("the service has no address for jobs: set --agent-url");
    };
    const { signal } = this.#closing;
    this.#context = context;
    this.#files = files;
    this.#ticker = new Ticker({ context, files, metadata, backendOf, script, signal });
    this.desk = new EngineDesk({ context, files, metadata, wake: () => this.wakeUp() });
  }

  /** See `Engine.load`. */
  get load(): EngineLoad {
    return this.#ticker.load;
  }

  /** See `Engine.outages`. */
  get outages(): readonly Outage[] {
    return this.#ticker.outages;
  }

  /** Begins to tick. */
  start(): void {
    this.#ticking ??= this.#tick();
  }

  /** Ticks soon: there is something to do. */
  wakeUp(): void {
    this.#isDue = true;
    this.#wake();
  }

  /** See `Engine.stop`. */
  async stop(executionId: string, reason?: string): Promise<boolean> {
    const { turns, store } = this.#context;
    return await turns.run(executionId, async () => {
      const execution = await getExecution(store, executionId);
      if (execution === undefined || hasEnded(execution.status)) return false;
      const job = await getJob(store, executionId);
      // One that has ended waits for its cluster to say why, which may be away for good.
      if (job?.end !== undefined && !isUnexplained(execution, job)) return false;
      if (decidedEnding(execution) !== undefined) return true;
      const ending = stopped(reason);
      if (job?.claim !== undefined) {
        decideEnding(execution, ending);
        job.stop_at = this.#context.time;
        await this.#context.save({ execution, job });
        this.#files.cancel(executionId);
      } else {
        // No agent can claim it from here on.
        writeEnd(execution, { ending, at_ms: this.#context.clock.now() });
        if (job !== undefined) close(job, this.#context.time);
        await this.#context.save({ execution, ...(job === undefined ? {} : { job }) });
      }
      this.wakeUp();
      return true;
    });
  }

  /** See `Engine.log`. */
  async log(executionId: string, options?: LogOptions): Promise<LogPage> {
    const { store } = this.#context;
    const job = await getJob(store, executionId);
    if (job !== undefined) return await readJobLog(job, this.#context, options);
    const { status = "queued" } = await getExecution(store, executionId) ?? {};
    if (!hasEnded(status)) return { lines: [], next: options?.after ?? "0" };
    return await readJobLog(
      { id: executionId, log_bytes: 0, is_archived: true },
      this.#context,
      options,
    );
  }

  /** See `Engine.output`. */
  async output(executionId: string, path: string): Promise<EngineOutput | undefined> {
    const execution = await getExecution(this.#context.store, executionId);
    if (!execution?.outputs.some((output) => output.path === path)) return undefined;
    return await this.#context.artifacts.open(artifactKeys.output(executionId, path));
  }

  /** See `Engine.forget`. */
  async forget(executionId: string, part?: "log" | "outputs"): Promise<void> {
    const { turns, store, artifacts } = this.#context;
    await turns.run(executionId, async () => {
      const execution = await getExecution(store, executionId);
      if (execution !== undefined && !hasEnded(execution.status)) {
        throw new ConflictError(`Cannot forget execution ${executionId}: it has not ended`);
      }
      if (part === undefined) await this.#files.remove(executionId);
      await artifacts.remove(artifactKeys.execution(executionId, part));
      if (part === "log") await removeJobLog(store, executionId);
      if (part === undefined) await removeJob(store, executionId);
    });
  }

  /** See `Engine.close`. */
  async close(deadline_ms: number): Promise<void> {
    this.#closing.abort();
    this.#wake();
    await this.#ticking;
    await this.#untilEnded(deadline_ms);
    this.desk.close();
    await this.#context.turns.settled();
    await this.#ticker.close();
    await this.#files.close();
  }

  /** Waits for jobs that run, for as long as their agents are heard: those of a stopped service are not. */
  async #untilEnded(deadline_ms: number): Promise<void> {
    const { clock } = this.#context;
    const end_ms = clock.steady() + deadline_ms;
    while (clock.steady() < end_ms) {
      const isHeard = clock.steady() - this.#context.lastHeard_ms < HEARD_MS;
      if (!isHeard || await this.#ticker.running() === 0) return;
      await delay(POLL_MS);
    }
  }

  async #tick(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      this.#isDue = false;
      await this.#ticker.tick().catch((error) => {
        const { type: engine } = this.#context;
        log.error("Cannot look at the executions of {engine}, trying again: {error}", {
          engine,
          error: messageOf(error),
        });
      });
      await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    if (this.#isDue || this.#closing.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#context.clock.after(this.#context.settings.tick_ms, resolve);
    this.#wake = resolve;
    await promise;
    cancel();
  }
}
