/**
 * The local engine: runs executions on this machine, as processes or in containers. A limited number runs at
 * once, the others wait in the database. Both survive a restart of the service.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { deadline } from "@std/async/deadline";
import { delay } from "@std/async/delay";
import { join, resolve } from "node:path";
import { ignoreTimeout } from "../../platform/waiting/promises.ts";
import type { ArtifactStore } from "../../artifacts/store.ts";
import { ConflictError, messageOf, UnavailableError } from "../../platform/errors.ts";
import { type Execution, getExecution, hasEnded } from "../../store/records/executions.ts";
import type { Engine, EngineLoad, EngineOutput, LogOptions, LogPage, Outage } from "../engine.ts";
import { stopped, writeEnd } from "../shared/execution_end.ts";
import type { SaveExecution } from "../shared/execution_saver.ts";
import { LogWatchers } from "../shared/log_watchers.ts";
import { openExecutionsOf, someWaiting } from "../shared/open_executions.ts";
import type { ExecutionRun } from "./execution_run.ts";
import { endingOf, executionSaverOf, followLeader, givenUp, overIn } from "./following.ts";
import { claimWaiting } from "./claiming.ts";
import { OrphanProcesses } from "./orphan_processes.ts";
import { machineOf, OtherMachines, placeOf } from "./other_machines.ts";
import { lookAtMachine, type Machine } from "./processes.ts";
import { ExecutionQueue, oldestOf } from "./queue.ts";
import { type LocalEngineOptions, SETTINGS } from "./options.ts";
import type { RunEvents, RunFactory } from "./run_factory.ts";
import { ResultFiles } from "./result_files.ts";
import { removeOrphanContainers } from "./runners/orphan_containers.ts";
import { Reachability } from "./runners/reachability.ts";
import { RunningExecutions } from "./running.ts";
import { runnerNameOf } from "./slots.ts";

export type { LocalEngineOptions } from "./options.ts";

/** The name of this engine in projects and executions. */
const TYPE = "local";
const WAITING_MAX = 1_000;
const RETRY_MS = 1_000;
const LET_GO_MS = 1_000;

const log = getLogger(["hooklaunch", "engine"]);

/** Runs executions on this machine. */
export class LocalEngine implements Engine {
  readonly #options: LocalEngineOptions;
  readonly #root: string;
  readonly #files: ResultFiles;
  readonly #queue: ExecutionQueue;
  readonly #running: RunningExecutions;
  readonly #reachability: Reachability;
  readonly #orphans = new OrphanProcesses();
  readonly #logWatchers = new LogWatchers();
  #leftoverContainers: Promise<void> = Promise.resolve();
  readonly #closing = new AbortController();
  readonly #others: OtherMachines;
  /** The ids of executions that an earlier process has begun. The leader may change their records, too. */
  readonly #takenOver = new Set<string>();
  readonly #leading = new AbortController();
  #following: Promise<unknown> | undefined;
  readonly #save: SaveExecution;
  #machine: Machine | undefined;
  #factory: Promise<RunFactory> | undefined;
  #refill: Promise<void> | undefined;
  /** True once it knows what this machine has begun. */
  #isStarted = false;
  /** Looks for executions to claim, beside the leader. */
  #claimSoon = () => {};

  constructor(options: LocalEngineOptions) {
    this.#options = options;
    this.#root = resolve(join(options.dataFolder, "executions"));
    this.#files = new ResultFiles(this.#root, options.store, this.#shared);
    this.#running = new RunningExecutions({
      max: Math.max(1, options.executionsMax ?? navigator.hardwareConcurrency),
      newRun: (...of) => this.#newRun(...of),
      onOver: (...of) => this.#over(...of),
      onRoom: () => this.#leads ? this.#startNext() : this.#claimSoon(),
    });
    this.#queue = new ExecutionQueue(options.waitingMax ?? WAITING_MAX);
    const { store, clock } = options;
    const { signal } = this.#closing;
    const onChange = (execution: Execution) => {
      if (this.#leads) options.onChange?.(execution);
      this.#logWatchers.call(execution.id);
    };
    this.#save = executionSaverOf({
      store,
      onChange,
      signal,
      isBeside: (id) => this.#sharesWork || this.#takenOver.has(id),
      isKnown: () => this.#leads || !this.#sharesWork,
      onOthers: (stored) => this.#leads && this.#others.claimed(stored),
    });
    const onClaimed = (id: string) => {
      this.#queue.remove(id);
      this.#startNext();
    };
    this.#others = new OtherMachines({ store, clock, onChange, onClaimed, signal });
    this.#reachability = new Reachability({
      clock,
      root: this.#root,
      signal,
      onChange: (runner, isDown) => this.#runnerChanged(runner, isDown),
    });
  }

  /** Running counts those that are ending, too. Waiting counts those in memory. */
  get load(): EngineLoad {
    return { running: this.#running.size, waiting: this.#queue.size };
  }

  get wantsRoom(): boolean {
    return this.#leads && this.#sharesWork &&
      (this.#queue.size > 0 || this.#reachability.outages.length > 0);
  }

  get outages(): Outage[] {
    return [...this.#others.outages, ...this.#reachability.outages];
  }

  async start(): Promise<void> {
    const begun = await this.#begun();
    const { store } = this.#options;
    this.#leading.abort();
    await this.#following;
    this.#removeOrphanContainers();
    await this.#endGivenUp();
    for (const execution of begun) {
      const machine = machineOf(execution);
      const isOther = store.shared && machine !== undefined && machine !== store.shared.machineId;
      if (isOther) this.#others.add(execution);
      else await this.#takeOver(execution);
    }
    this.#isStarted = true;
    if (this.#sharesWork) this.#others.watchClaims();
    await this.#readWaiting();
    this.#startNext();
  }

  async resume(): Promise<void> {
    const { store, clock } = this.#options;
    const { shared } = store;
    if (shared === undefined) return;
    const begun = await this.#begun();
    await this.#endGivenUp();
    for (const execution of begun) {
      if (machineOf(execution) === shared.machineId) await this.#takeOver(execution);
    }
    if (this.#following !== undefined) return;
    const signal = AbortSignal.any([this.#closing.signal, this.#leading.signal]);
    const following = followLeader({
      ...{ store, clock, signal },
      running: () => this.#running.ids,
      stop: async (id, ending) => await (await this.#running.get(id)?.run)?.stop(ending),
    });
    const claiming = this.#sharesWork && claimWaiting({
      ...{ clock, signal, instances: shared.instances, reachability: this.#reachability },
      room: () => this.#options.hasRoom?.() === false ? 0 : this.#running.room,
      waiting: (max, isWanted) =>
        someWaiting(store, TYPE, {
          max,
          isWanted: (each) => this.#mayStart(each) && isWanted(each),
        }),
      begin: (execution) => this.#running.begin(execution, (run) => run.start()),
      onFreed: (wake) => void (this.#claimSoon = wake),
    });
    this.#following = Promise.all([following, claiming]);
  }

  submit(execution: Execution): void {
    if (execution.status !== "queued" || this.#running.hasTaken(execution.id)) return;
    // It is read from the database when its runner answers again.
    if (this.#isStuck(execution)) return;
    this.#queue.add(execution);
    this.#startNext();
  }

  async stop(executionId: string, reason?: string): Promise<boolean> {
    const ending = stopped(reason);
    if (this.#others.has(executionId)) return await this.#others.stop(executionId, ending);
    const running = this.#running.get(executionId);
    if (running && await (await running.run).stop(ending)) return true;
    // Another instance may have begun with it first.
    if (this.#others.has(executionId)) return await this.#others.stop(executionId, ending);
    if (this.#running.hasTaken(executionId)) return false;
    const execution = this.#queue.remove(executionId) ??
      await getExecution(this.#options.store, executionId);
    // It may have started during the read.
    if (this.#running.hasTaken(executionId)) return await this.stop(executionId, reason);
    if (execution?.status === "queued") {
      // From here on it does not start.
      this.#running.take(executionId);
      this.#queue.remove(executionId);
      writeEnd(execution, { ending, at_ms: this.#options.clock.now() });
      if (await this.#save(execution)) return true;
    } else if (execution) this.#others.claimed(execution);
    if (this.#others.has(executionId)) return await this.#others.stop(executionId, ending);
    if (this.#isStarted || execution === undefined || hasEnded(execution.status)) return false;
    throw new UnavailableError("The engine has not started yet", RETRY_MS / 1_000);
  }

  log(executionId: string, options?: LogOptions): Promise<LogPage> {
    return this.#files.log(executionId, options);
  }

  watchLog(executionId: string, onGrowth: () => void): () => void {
    return this.#logWatchers.add(executionId, onGrowth);
  }

  output(executionId: string, path: string): Promise<EngineOutput | undefined> {
    return this.#files.output(executionId, path);
  }

  machineOf(execution: Execution): string | undefined {
    return this.#options.store.shared && machineOf(execution);
  }

  async forget(executionId: string, part?: "log" | "outputs"): Promise<void> {
    const running = this.#running.get(executionId);
    const isOpen = this.#queue.has(executionId) || this.#others.has(executionId);
    if (isOpen || (await running?.run)?.isSettled === false) {
      throw new ConflictError(`Cannot forget execution ${executionId}: it has not ended`);
    }
    await running?.over;
    if (await this.#files.remove(executionId, part)) return;
    // Parts of it belong to another user: at the end the container engine could not give them back.
    const execution = await getExecution(this.#options.store, executionId);
    if (execution) await (await this.#newRun(execution)).clear();
    await this.#files.folderOf(executionId).remove(part);
  }

  async tidy(): Promise<void> {
    if (!this.#options.store.shared || !(this.#leads || this.#following)) return;
    // What the leader has run stays until its record is removed.
    const isShared = this.#sharesWork && !this.#leads;
    for (const id of await overIn(this.#root, this.#options.store, { isShared })) {
      if (this.#running.get(id) === undefined) await this.#files.folderOf(id).remove();
    }
  }

  async close(deadline_ms: number): Promise<void> {
    this.#closing.abort();
    const runs = this.#running.all;
    const over = Promise.all(runs.map((each) => each.over));
    for (const { run } of runs) (await run).detachIfStaging();
    await deadline(over, deadline_ms).catch(ignoreTimeout);
    for (const { run } of runs) (await run).detach();
    // A preparation may still take long. Its command does not start any more.
    await deadline(over, LET_GO_MS).catch(ignoreTimeout);
    await Promise.all([
      this.#refill,
      this.#following,
      this.#others.close(),
      this.#orphans.close(),
      this.#leftoverContainers,
      this.#reachability.close(),
      this.#factory?.then((factory) => factory.close()),
    ]);
  }

  get #leads(): boolean {
    return this.#leading.signal.aborted;
  }

  /** True where any instance may begin with an execution: each finds all that it needs, and leaves all for the others. */
  get #sharesWork(): boolean {
    return this.#options.store.shared !== undefined && this.#shared !== undefined;
  }

  /** The artifact store, where all instances share it. */
  get #shared(): ArtifactStore | undefined {
    const { artifacts } = this.#options;
    return artifacts?.isShared ? artifacts : undefined;
  }

  #startNext(): void {
    if (!this.#leads || this.#closing.signal.aborted) return;
    while (this.#running.room > 0) {
      const execution = this.#queue.take((each) => this.#running.countOf(each));
      if (execution === undefined) break;
      // It may have been stopped between the read and its place in the queue.
      if (this.#running.hasTaken(execution.id)) continue;
      this.#running.begin(execution, (run) => run.start());
    }
    if (this.#queue.wantsMore) this.#refill ??= this.#readMore();
  }

  async #readMore(): Promise<void> {
    try {
      await this.#readWaiting();
    } catch (error) {
      log.error("Cannot read the executions that wait: {error}", { error: messageOf(error) });
      await delay(RETRY_MS, { signal: this.#closing.signal }).catch(() => {});
    }
    this.#refill = undefined;
    this.#startNext();
  }

  async #over(run: ExecutionRun, executionId: string): Promise<void> {
    this.#takenOver.delete(executionId);
    // The leader, which removes what is old, has no part of these files.
    const isLeft = this.#sharesWork && !this.#leads && run.isSettled;
    if (isLeft) await this.#files.folderOf(executionId).remove();
  }

  /** Looks at the machine, then reads the executions that have begun. */
  async #begun(): Promise<Execution[]> {
    await Deno.mkdir(this.#root, { recursive: true, mode: 0o700 });
    await this.#lookAtMachine();
    this.#orphans.takeOver(this.#root);
    return Array.fromAsync(openExecutionsOf(this.#options.store, TYPE, ["started", "stopping"]));
  }

  async #lookAtMachine(): Promise<Machine> {
    return this.#machine ??= await lookAtMachine(this.#options.store.shared && this.#root);
  }

  /** Goes on with an execution that this machine has begun. */
  async #takeOver(execution: Execution): Promise<void> {
    const { id } = execution;
    const ending = endingOf(execution);
    // It runs already. The leader before this one may have stopped it.
    if (ending !== undefined) await (await this.#running.get(id)?.run)?.stop(ending);
    if (this.#running.hasTaken(id)) return;
    if (this.#options.store.shared) this.#takenOver.add(id);
    this.#running.begin(execution, (run) => run.takeOver());
  }

  /** Ends the commands of executions that the leader gave up while this machine was silent. */
  async #endGivenUp(): Promise<void> {
    for (const execution of await givenUp(this.#options.store, this.#root)) {
      const { id } = execution;
      if (this.#running.hasTaken(id)) continue;
      this.#takenOver.add(id);
      this.#running.begin(execution, (run) => run.takeOver());
    }
  }

  /** True for an execution whose runner cannot be asked. */
  #isStuck(execution: Execution): boolean {
    return this.#reachability.whyDown(runnerNameOf(execution)) !== undefined;
  }

  /** Others of a runner that cannot be asked wait in the database until it answers. */
  async #runnerChanged(runner: string, isDown: boolean): Promise<void> {
    if (isDown) return this.#queue.drop((execution) => runnerNameOf(execution) === runner);
    this.#removeOrphanContainers();
    while (this.#refill !== undefined) await this.#refill;
    if (this.#closing.signal.aborted) return;
    await (this.#refill = this.#readMore());
  }

  /** Removes what is left of executions that ended while their runner could not be asked, or before. */
  #removeOrphanContainers(): void {
    const parts = { store: this.#options.store, root: this.#root, signal: this.#closing.signal };
    this.#leftoverContainers = this.#leftoverContainers.then(() => removeOrphanContainers(parts));
  }

  async #newRun(execution: Execution, events?: RunEvents): Promise<ExecutionRun> {
    return (await (this.#factory ??= this.#loadFactory())).make(execution, events);
  }

  async #loadFactory(): Promise<RunFactory> {
    const { RunFactory } = await import("./run_factory.ts");
    const { store, clock, projects, dataFolder, settings, secrets } = this.#options;
    const { openOutput = this.output.bind(this) } = this.#options;
    return new RunFactory({
      ...(this.#shared && { artifacts: this.#shared }),
      ...(store.shared && { place: placeOf(store.shared) }),
      ...{ store, clock, openOutput, secrets, dataFolder },
      checkout: (...args) => projects.checkout(...args),
      root: this.#root,
      machine: await this.#lookAtMachine(),
      onSessionOver: (session) => this.#orphans.add(session),
      reachability: this.#reachability,
      settings: { ...SETTINGS, ...settings },
      onLog: (executionId) => this.#logWatchers.call(executionId),
      save: this.#save,
      closing: this.#closing.signal,
    });
  }

  /** Reads the oldest waiting executions from the database. */
  #readWaiting(): Promise<void> {
    const { store, waitingMax = WAITING_MAX } = this.#options;
    return this.#queue.refill(() =>
      oldestOf(openExecutionsOf(store, TYPE, ["queued"]), {
        max: waitingMax,
        isWanted: (each) => this.#mayStart(each),
      })
    );
  }

  /** False for an execution that must not start again, and for one whose runner cannot be asked. */
  #mayStart(execution: Execution): boolean {
    return !this.#running.hasTaken(execution.id) && !this.#isStuck(execution);
  }
}
