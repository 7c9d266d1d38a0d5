/**
 * Makes the runs of executions. The engine loads this file, and with it most of its folder, for the first
 * execution: an idle service does not hold it in memory.
 *
 * @module
 */
import { join, resolve } from "node:path";
import { syncFolder } from "../../platform/files/durable.ts";
import { CoalescedWork } from "../../platform/waiting/coalesced_work.ts";
import type { Execution } from "../../store/records/executions.ts";
import { ExecutionRun } from "./execution_run.ts";
import { diskCache } from "../shared/inputs/disk_cache.ts";
import { RemoteFiles } from "../shared/inputs/remote_files.ts";
import type { OnSessionOver } from "./process_group.ts";
import type { Machine } from "./processes.ts";
import type { RunContext } from "./run_context.ts";
import type { Reachability } from "./runners/reachability.ts";
import { runnerOf } from "./runners/mod.ts";

/** The parts of the engine that all runs use. */
interface RunFactoryOptions
  extends Omit<RunContext, "remote" | "bootId" | "runnerOf" | "syncRoot"> {
  /** The service's data folder. */
  dataFolder: string;
  machine: Machine;
  onSessionOver: OnSessionOver;
  reachability: Reachability;
}

/** The events of one run that the engine is told of. */
export type RunEvents = Pick<RunContext, "onCommandOver" | "onOutage">;

/** Makes the runs of executions, which share one cache of input files. */
export class RunFactory {
  readonly #context: RunContext;

  constructor({ dataFolder, machine, onSessionOver, reachability, ...options }: RunFactoryOptions) {
    const { clock, settings, root } = options;
    const folder = resolve(join(dataFolder, "input_cache"));
    // Executions that end at the same time share it.
    const rootSync = new CoalescedWork(() => syncFolder(root));
    this.#context = {
      ...options,
      syncRoot: () => rootSync.run(),
      remote: new RemoteFiles({ cache: diskCache(folder), clock }),
      bootId: machine.bootId,
      runnerOf: (execution) =>
        runnerOf(execution, { ...settings, root, machine, onSessionOver, reachability }),
    };
  }

  make(execution: Execution, events: RunEvents = {}): ExecutionRun {
    return new ExecutionRun(execution, { ...this.#context, ...events });
  }

  /** Waits until no input file is being fetched. */
  async close(): Promise<void> {
    await this.#context.remote.close();
  }
}
