/**
 * One schedule of a simulation, from an empty database to the end of all that was accepted.
 *
 * @module
 */
import type fc from "fast-check";
import { FORMAT_VERSION, keys } from "../../src/store/keys.ts";
import type { Project } from "../../src/store/records/projects.ts";
import { Cluster } from "./engine.ts";
import { History } from "./history.ts";
import { type Instance, startInstance } from "./instance.ts";
import { PaceHistory } from "./pace_history.ts";
import { plantOrder } from "./pace_parts.ts";
import { OWN_TRIGGERS, type Plan, type PlannedFault } from "./plan.ts";
import { plantOwnDefect, Receiver } from "./own_parts.ts";
import { Senders } from "./senders.ts";
import { type Defect, settled, SimProcess, World } from "./world.ts";

/** Calls and steps of the clock during which faults happen. */
const STEPS = 2_500;
/** The same with paces. The times that bursts take are known from then on. */
const PACED_STEPS = 700;
/** Timers that may fire until all has ended. */
const RESTS_MAX = 3_000;
/** The pause of a supervisor before it starts a process again. */
const RESTART_MS = 300;

/** What one schedule has shown. */
export interface Result {
  findings: string[];
  /** The number of launches that were accepted. */
  accepted: number;
}

/** Options of {@linkcode simulate}. */
export interface SimulateOptions {
  defect?: Defect | undefined;
  /** Processes on a remote database, at most 3. Default 2. */
  processes?: number;
}

/** Runs one schedule. Random ids are the same for the same calls. */
export async function simulate(
  scheduler: fc.Scheduler,
  plan: Plan,
  { defect, processes = 2 }: SimulateOptions = {},
): Promise<Result> {
  const { isRemote, isOwn, launches, faults, skews_ms, scheduled } = plan;
  const triggers = isOwn ? OWN_TRIGGERS : plan.triggers;
  using _ids = countedIds();
  using _random = countedRandom();
  using _order = plantOrder(defect);
  using _claims = plantOwnDefect(defect);
  const world = new World(scheduler, { isRemote, defect });
  const pace = plan.triggers && new PaceHistory(world, plan.triggers, scheduled);
  const history = new History(world, pace);
  const service = new Service(world, isRemote ? skews_ms.slice(0, processes) : [0], pace);
  const senders = new Senders(world, () => service.serving, triggers);
  for (const [index, launch] of launches.entries()) senders.send(launch, index);
  for (
    let step = 0;
    step < (pace ? PACED_STEPS : STEPS) && !(senders.areDone && history.isOver);
    step++
  ) {
    for (const fault of faults) if (fault.step === step) service.suffer(fault);
    await world.step();
  }
  service.recover();
  await world.calm();
  pace?.calm();
  let rests = 0;
  const isOver = () => senders.areDone && history.isOver && world.late === 0;
  while (!isOver() && rests++ < RESTS_MAX) await world.rest();
  const executed = service.cluster.executions;
  const findings = history.findings(senders.attempts, executed);
  findings.push(...service.receiver.strange);
  if (rests > RESTS_MAX) findings.push("not everything has ended");
  service.end();
  await settled();
  const accepted = senders.attempts.filter(({ outcome }) => outcome === "accepted").length;
  return { findings, accepted };
}

/** The service's processes, each of which a supervisor starts again when it ends. */
class Service {
  readonly cluster: Cluster;
  readonly receiver: Receiver;
  readonly #world: World;
  readonly #processes: SimProcess[] = [];
  readonly #serving = new Map<SimProcess, Instance>();
  readonly #pace: PaceHistory | undefined;
  #starts = 0;
  #hasEnded = false;

  /** @param skews_ms how far the clock of each machine is ahead */
  constructor(world: World, skews_ms: readonly number[], pace: PaceHistory | undefined) {
    this.#world = world;
    this.#pace = pace;
    this.cluster = new Cluster(world, pace);
    this.receiver = new Receiver(world);
    const project: Project = {
      name: "digits",
      directory: "/digits",
      config_file: "valohai.yaml",
      engine: { type: "local" },
    };
    const mutations = [
      { key: keys.format(), value: { is: FORMAT_VERSION } },
      { key: keys.project(project.name), value: { is: project } },
      ...pace?.scheduleMutations() ?? [],
    ];
    world.database.commit({ checks: [], mutations, messages: [] });
    for (const [index, skew_ms] of skews_ms.entries()) this.#start(index, skew_ms);
  }

  /** The instances that accept launches. */
  get serving(): readonly Instance[] {
    return [...this.#serving.values()].filter(({ isServing }) => isServing);
  }

  /** Lets a fault happen. */
  suffer({ kind, process: index, commits, time_ms, ...outage }: PlannedFault): void {
    const process = this.#processes[index % this.#processes.length];
    if (process === undefined) return;
    if (kind === "crash") process.kill();
    if (kind === "clock") this.#jump(process, outage.jump_ms ?? 0, time_ms);
    if (kind === "freeze") process.freeze(time_ms);
    if (kind === "outage") process.outage = { ...outage, ends: [...outage.ends] };
    if (kind === "commit") {
      process.failing += commits;
      process.losing += commits;
    }
    if (kind === "stop") {
      const instance = this.#serving.get(process);
      this.#serving.delete(process);
      if (instance) void instance.stop().then(() => process.kill());
      else process.kill();
    }
  }

  /** Ends the faults. */
  recover(): void {
    for (const process of this.#processes) {
      process.failing = process.losing = 0;
      process.outage = undefined;
      process.thaw();
    }
  }

  /** Ends all processes. */
  end(): void {
    this.#hasEnded = true;
    for (const process of this.#processes) process.kill();
  }

  /** Lets a clock jump, until it is set right. */
  #jump(process: SimProcess, jump_ms: number, time_ms: number): void {
    this.#pace?.jumped();
    process.jump_ms += jump_ms;
    this.#world.after(time_ms, () => process.jump_ms -= jump_ms);
  }

  #start(index: number, skew_ms: number): void {
    const name = `process ${index}, start ${++this.#starts}`;
    const process = new SimProcess(this.#world, name, skew_ms);
    this.#processes[index] = process;
    startInstance(process, this, this.#pace).then(
      (instance) => {
        if (!process.isDead) this.#serving.set(process, instance);
      },
      () => process.kill(),
    );
    void process.died.then(() => {
      this.#serving.delete(process);
      if (!this.#hasEnded) this.#world.after(RESTART_MS, () => this.#start(index, skew_ms));
    });
  }
}

/** Makes random ids the same in each schedule, until it is disposed of. */
function countedIds(): Disposable {
  const { randomUUID } = crypto;
  let count = 0;
  crypto.randomUUID = () => {
    const digits = (++count).toString(16).padStart(12, "0");
    return `00000000-0000-4000-8000-${digits}`;
  };
  return { [Symbol.dispose]: () => void (crypto.randomUUID = randomUUID) };
}

/** Makes random numbers the same in each schedule, until it is disposed of. */
function countedRandom(): Disposable {
  const { random } = Math;
  let count = 0;
  // The fractions of the multiples of the golden ratio are spread evenly.
  Math.random = () => (++count * 0.6180339887498949) % 1;
  return { [Symbol.dispose]: () => void (Math.random = random) };
}
