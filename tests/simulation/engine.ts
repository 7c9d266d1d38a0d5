/**
 * An engine whose jobs are outside of the processes that are simulated, as those of a cluster: it knows a job by
 * its execution's id, and a job goes on when the process that submitted it is gone.
 *
 * @module
 */
import type { Engine } from "../../src/engines/engine.ts";
import { pause } from "../../src/platform/waiting/timers.ts";
import {
  type Execution,
  getExecution,
  hasEnded,
  openExecutions,
  saveExecution,
} from "../../src/store/records/executions.ts";
import type { Store } from "../../src/store/store.ts";
import type { PaceHistory } from "./pace_history.ts";
import type { SimProcess, World } from "./world.ts";

/** The exit code of first attempts. */
export const FAILED = 75;
const JOB_MS = 700;
const RETRY_MS = 1_000;
/** With a defect, an end is stored once more after this time. */
const AGAIN_MS = 5_000;

/** The jobs of a world. */
export class Cluster {
  readonly #world: World;
  readonly #pace: PaceHistory | undefined;
  /** By the executions' ids. */
  readonly #jobs = new Map<string, { execution: Execution; ended: Promise<void> }>();

  constructor(world: World, pace: PaceHistory | undefined) {
    this.#world = world;
    this.#pace = pace;
  }

  /** The executions whose commands have run. */
  get executions(): Execution[] {
    return [...this.#jobs.values()].map(({ execution }) => execution);
  }

  /** Runs the command of an execution, unless it has one of that id already. Resolves when it has ended. */
  run(execution: Execution): Promise<void> {
    let job = this.#jobs.get(execution.id);
    if (job === undefined) {
      job = { execution: structuredClone(execution), ended: this.#world.delay(JOB_MS) };
      this.#jobs.set(execution.id, job);
      this.#pace?.begun(execution.run_id);
    }
    return job.ended;
  }
}

/** The parts of a process's engine. */
interface EngineParts {
  store: Store;
  process: SimProcess;
  cluster: Cluster;
  onChange(execution: Execution): void;
}

/** Makes the engine of one process. */
export function simulatedEngine({ store, process, cluster, onChange }: EngineParts): Engine {
  const known = new Set<string>();
  const follow = async (execution: Execution) => {
    if (known.has(execution.id)) return;
    known.add(execution.id);
    await cluster.run(execution);
    await process.gate();
    const ended = endOf(execution, process.clock.now());
    const isStored = async () =>
      await stored(store, ended) || await hasEndedBefore(store, execution);
    while (!await isStored()) await pause(process.clock, RETRY_MS);
    onChange(ended);
    if (process.world.defect !== "retry that doubles" || execution.attempt !== 1) return;
    await pause(process.clock, AGAIN_MS);
    await stored(store, ended);
    onChange(ended);
  };
  const unused = () => Promise.reject(new RangeError("The simulation asks for nothing else"));
  return {
    async start() {
      for await (const { id } of openExecutions(store)) {
        const execution = await getExecution(store, id);
        if (execution?.status === "queued" && execution.attempt_id === undefined) {
          void follow(execution);
        }
      }
    },
    submit: (execution) => void follow(execution),
    stop: () => Promise.resolve(false),
    log: unused,
    watchLog: () => () => {},
    output: unused,
    forget: unused,
    load: { running: 0, waiting: 0 },
    close: () => Promise.resolve(),
  };
}

function endOf(execution: Execution, now_ms: number): Execution {
  const ended_at = new Date(now_ms).toISOString();
  return execution.attempt === 1
    ? { ...execution, status: "error", exit_code: FAILED, ended_at }
    : { ...execution, status: "complete", exit_code: 0, ended_at, metadata: { score: 1 } };
}

/** Tells whether an end is stored, though its commit has failed. */
async function hasEndedBefore(store: Store, { id, attempt }: Execution): Promise<boolean> {
  if (attempt === undefined) return false;
  const found = await getExecution(store, id).catch(() => undefined);
  return found !== undefined && hasEnded(found.status);
}

async function stored(store: Store, execution: Execution): Promise<boolean> {
  try {
    await store.committer.commit(saveExecution(execution));
    return true;
  } catch {
    return false;
  }
}
