/**
 * The engines of a service. `kinds.ts` lists what there can be.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/clock.ts";
import { ActionError, InvalidInputError, messageOf } from "../platform/errors.ts";
import { pause, within } from "../platform/waiting/timers.ts";
import { engineIdOf, idsInEngine, launchedOf } from "../store/records/attempts.ts";
import { type Execution, getAttempt, getExecution, hasEnded } from "../store/records/executions.ts";
import { getJob } from "../store/records/jobs.ts";
import { getProject } from "../store/records/projects.ts";
import type { Store } from "../store/store.ts";
import type {
  Engine,
  EngineLoad,
  EngineOutput,
  EngineParts,
  EnginesOptions,
  Outage,
} from "./engine.ts";
import type { EngineSettings } from "../store/records/projects.ts";
import { checkAgentAddress } from "./remote/agent.ts";
import type { JobDesk } from "./remote/desk.ts";
import { Retries } from "./retries.ts";
import { ENGINE_TYPES, engineKind, UnknownEngineError, unusableReason } from "./kinds.ts";

export {
  ENGINE_TYPES,
  engineKind,
  engineLeavesOut,
  engineRefusals,
  noteUnusable,
  UnknownEngineError,
} from "./kinds.ts";

/** The time that the service's start waits for engines. */
const START_MS = 10_000;
/** The pause before an engine that did not start is tried again. */
const RETRY_MS = 10_000;
/** The time that a stop waits for the end of an attempt whose command is over, and the interval of looking. */
const STOP_MS = 60_000;
const LOOK_MS = 1_000;

const log = getLogger(["hooklaunch", "engine"]);

/** Functions that make engines, by type. */
export type EngineMakers = Readonly<Record<string, (parts: EngineParts) => Engine>>;

/** Loads the makers of some engines, by type; of all by default. */
export async function engineMakers(types = ENGINE_TYPES): Promise<EngineMakers> {
  const entries = types.map(async (type) => [type, await engineKind(type).maker()]);
  return Object.fromEntries(await Promise.all(entries));
}

/** All engines of a service. One that is down does not affect the others. */
export class Engines {
  readonly #store: Store;
  readonly #agent: EnginesOptions["agent"];
  readonly #clock: Clock;
  readonly #engines: ReadonlyMap<string, Engine>;
  /** The engines that have not started, by type. */
  readonly #failedStarts = new Map<string, Outage>();
  readonly #retries: Retries;
  readonly #closing = new AbortController();
  #starting: Promise<unknown> = Promise.resolve();

  #changes = 0;

  constructor(makers: EngineMakers, options: EnginesOptions) {
    const onChange = (execution: Execution) => {
      this.#changes++;
      // An attempt behind which another one comes is no end of what was launched.
      options.onChange?.(launchedOf(execution));
    };
    this.#retries = new Retries({
      ...options,
      submit: (attempt) => this.of(attempt.engine.type).submit(attempt),
      onChange,
    });
    const parts: EngineParts = {
      ...options,
      onChange: (execution) => {
        this.#retries.changed(execution);
        onChange(execution);
      },
      projects: {
        checkout: checkoutOf(options),
        jobCode: async (...code) => await options.projects.jobCode?.(...code),
      },
      openOutput: (id, path) => this.#openOutput(id, path),
    };
    this.#store = options.store;
    this.#agent = options.agent;
    this.#clock = options.clock;
    this.#engines = new Map(Object.entries(makers).map(([type, make]) => [type, make(parts)]));
  }

  /**
   * Returns the engine of a type, as a project names it.
   *
   * @throws {UnknownEngineError} when there is none
   */
  of(type: string): Engine {
    const engine = this.#engines.get(type);
    if (engine !== undefined) return engine;
    throw new UnknownEngineError(`Cannot find the engine "${type}"`);
  }

  /**
   * Checks that projects can use an engine.
   *
   * @param isNamed false for the engine of a project that names none: it may run no steps at all
   * @throws {InvalidInputError} when its jobs run elsewhere and could not reach the service
   */
  expectUsable({ type }: EngineSettings, isNamed: boolean): void {
    const reason = unusableReason(type);
    if (reason !== undefined && isNamed) {
      const detail = `Expected another engine than "${type}": ${reason}`;
      throw new InvalidInputError("the project", [{ pointer: "/engine/type", detail }]);
    }
    if (engineKind(type).keepsFiles) return;
    if (this.#agent === undefined) {
      const detail =
        `Expected an engine of this machine, found "${type}", whose jobs need an address ` +
        "of the service: start it with --agent-url";
      throw new InvalidInputError("the project", [{ pointer: "/engine/type", detail }]);
    }
    checkAgentAddress(this.#agent, { isElsewhere: true });
  }

  /** Starts all engines. Waits for them for some time; an engine that fails is tried again. */
  async start(): Promise<void> {
    await this.#begin((engine) => engine.start());
    if (this.#closing.signal.aborted) return;
    const retrying = this.#retries.start();
    this.#starting = Promise.allSettled([this.#starting, retrying]);
    await retrying;
  }

  /** Continues the executions of this machine while another instance leads. */
  resume(): Promise<void> {
    return this.#begin(async (engine) => await engine.resume?.());
  }

  /** Returns what acts for the agent of an execution's job; undefined when it has none. */
  async deskOf(executionId: string): Promise<JobDesk | undefined> {
    const job = await getJob(this.#store, executionId);
    return job && await this.#engines.get(job.engine)?.desk?.();
  }

  /**
   * Returns the machine that has the files of an execution; none when every instance can read them, or when it is still
   * to come, as `isComing` tells.
   */
  async filesOf(
    executionId: string,
  ): Promise<{ machine?: string | undefined; isComing?: boolean }> {
    const execution = await getExecution(this.#store, executionId);
    const engine = execution && this.#engines.get(execution.engine.type);
    if (engine?.machineOf === undefined || execution === undefined) return {};
    const machine = engine.machineOf(execution);
    return { machine, isComing: machine === undefined && !hasEnded(execution.status) };
  }

  /**
   * Asks an execution to stop, as {@linkcode Engine.stop} does. No attempt comes behind.
   *
   * @returns false when it has ended
   */
  async stop({ id }: Pick<Execution, "id">, reason?: string): Promise<boolean> {
    const until_ms = this.#clock.steady() + STOP_MS;
    while (this.#clock.steady() < until_ms && !this.#closing.signal.aborted) {
      const execution = await getExecution(this.#store, id);
      const launched = execution?.attempt_of ?? id;
      const last = execution && await getAttempt(
        this.#store,
        launched === id ? execution : await getExecution(this.#store, launched) ?? execution,
      );
      if (last === undefined || hasEnded(last.status)) return false;
      if (last.status === "created") {
        if (await this.#retries.stop(last.id, reason)) return true;
        continue; // It has just begun.
      }
      const engine = this.of(last.engine.type);
      if (await engine.stop(last.id, reason)) return true;
      if (last.attempt_of === undefined) return false;
      // Its command is over. What comes of that is known when its end is stored.
      await this.#untilTold(engine, last);
    }
    return false;
  }

  /** The load of all engines together. */
  get load(): EngineLoad {
    return Array.from(this.#engines.values(), ({ load }) => load)
      .reduce((sum, { running, waiting }) => ({
        running: sum.running + running,
        waiting: sum.waiting + waiting,
      }));
  }

  /** True while executions wait that other instances may begin on their machines. */
  get wantRoom(): boolean {
    return this.#engines.values().some(({ wantsRoom = false }) => wantsRoom);
  }

  /** The number of changes of executions' records since the service has started. */
  get changes(): number {
    return this.#changes;
  }

  /** The engines and clusters that do not answer. */
  get outages(): (Outage & { engine: string })[] {
    return Array.from(this.#engines).flatMap(([engine, { outages = [] }]) => {
      const failedStart = this.#failedStarts.get(engine);
      const all = failedStart === undefined ? outages : [failedStart, ...outages];
      return all.map((outage) => ({ engine, ...outage }));
    });
  }

  /**
   * Removes what an engine keeps of an ended execution.
   *
   * @param part what is removed; everything when absent
   * @throws {ConflictError} when it has not ended
   */
  async forget(
    { id, engine, attempts }: Pick<Execution, "id" | "engine" | "attempts">,
    part?: "log" | "outputs",
  ): Promise<void> {
    for (const each of idsInEngine({ id, ...(attempts && { attempts }) })) {
      await this.of(engine.type).forget(each, part);
    }
  }

  /** Removes files that this machine need not keep. */
  async tidy(): Promise<void> {
    for (const engine of this.#engines.values()) await engine.tidy?.();
  }

  /** Closes all engines, each with the same deadline. */
  async close(deadline_ms: number): Promise<void> {
    this.#closing.abort();
    await this.#retries.close();
    await Promise.all(Array.from(this.#engines.values(), (engine) => engine.close(deadline_ms)));
    // The database is closed next, which one that still starts reads.
    await within(this.#clock, START_MS, this.#starting);
  }

  async #begin(begin: (engine: Engine) => Promise<void>): Promise<void> {
    const begun = Array.from(
      this.#engines,
      ([type, engine]) => this.#until(() => begin(engine), type),
    );
    this.#starting = Promise.all([this.#starting, ...begun]);
    await within(this.#clock, START_MS, this.#starting);
  }

  async #until(begin: () => Promise<void>, type: string): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await begin();
        this.#failedStarts.delete(type);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const { since = new Date(this.#clock.now()).toISOString() } =
          this.#failedStarts.get(type) ?? {};
        this.#failedStarts.set(type, { since, detail: messageOf(error), projects: [] });
        log.error("Cannot start the engine {engine}, trying again: {error}", {
          engine: type,
          error: messageOf(error),
        });
      }
      await pause(this.#clock, RETRY_MS, signal);
    }
  }

  async #openOutput(executionId: string, path: string): Promise<EngineOutput | undefined> {
    const execution = await getExecution(this.#store, executionId);
    return await (execution &&
      this.of(execution.engine.type).output(engineIdOf(execution), path));
  }

  /** Waits until the end of an attempt may have been stored. */
  async #untilTold(engine: Engine, { id }: Execution): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const unwatch = engine.watchLog(id, resolve);
    try {
      const { status = "error" } = await getExecution(this.#store, id) ?? {};
      if (!hasEnded(status)) await within(this.#clock, LOOK_MS, promise);
    } finally {
      unwatch();
    }
  }
}

/**
 * Returns a checkout for executions that have waited. Meanwhile their project may have been deleted, or this
 * machine may lead and has never fetched the repository. Beside the leader its mirror may be old.
 */
function checkoutOf(
  { store, projects }: Pick<EnginesOptions, "store" | "projects">,
): EnginesOptions["projects"]["checkout"] {
  return async (projectName, commit, ...args) => {
    const { instances } = store.shared ?? {};
    if (instances !== undefined && !instances.isLeader) {
      const project = await getProject(store, projectName);
      // The code of a folder, and what a configuration holds, has no fetch.
      const isOfGit = project?.repository !== undefined && !/^[~=]/.test(commit);
      if (isOfGit && await projects.hasCommit?.(project, commit) === false) {
        await projects.fetch?.(project);
      }
    }
    try {
      await projects.checkout(projectName, commit, ...args);
    } catch (error) {
      const project = await getProject(store, projectName);
      if (project === undefined) {
        throw new ActionError(`Project "${projectName}" was deleted while this waited`);
      }
      if (await projects.isKept?.(project) !== false) throw error;
      await projects.fetch?.(project);
      await projects.checkout(projectName, commit, ...args);
    }
  };
}
