/**
 * The surroundings of an execution's run.
 *
 * @module
 */
import type { ArtifactStore } from "../../artifacts/store.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Execution } from "../../store/records/executions.ts";
import type { Store } from "../../store/store.ts";
import type { SecretsOfSteps } from "../engine.ts";
import type { SaveExecution } from "../shared/execution_saver.ts";
import type { RemoteFiles } from "../shared/inputs/remote_files.ts";
import type { Sources } from "../shared/inputs/source.ts";
import type { Runner } from "./runners/runner.ts";
import type { SetupContext } from "./work_folder_setup.ts";

/** Limits and intervals of every run. */
export interface RunSettings {
  /** The size limit of the log, and of each stream that goes into it. */
  logBytesMax: number;
  /** The most outputs that a record lists. */
  outputsMax: number;
  /** The time between SIGTERM and SIGKILL. */
  grace_ms: number;
  /** The interval of looking at output and limits. */
  poll_ms: number;
  /** The shortest interval of measuring disk use. */
  disk_ms: number;
  /** The time limit for pulling a container image. */
  pull_ms: number;
  /** The time for which an unreachable container engine is tried again where nobody can wait longer. */
  reach_ms: number;
}

/** The machine that has begun an execution, as its record has it. */
export interface MachineRecord {
  marks: { machine_id: string };
  shown: Pick<Execution, "machine">;
}

/** The surroundings of a run. */
export interface RunContext {
  store: Store;
  clock: Clock;
  /** Gets copies of what executions leave; absent where their folders are enough. */
  artifacts?: ArtifactStore;
  checkout: SetupContext["checkout"];
  openOutput: Sources["openOutput"];
  secrets?: SecretsOfSteps | undefined;
  /** The folder of all executions. */
  root: string;
  /** Writes the names in that folder to disk. */
  syncRoot(): Promise<void>;
  /** Input files of URLs, shared by all executions. */
  remote: RemoteFiles;
  /** Changes with each start of the machine. */
  bootId: string;
  /** The machine, where it is one of several. */
  place?: MachineRecord;
  settings: RunSettings;
  runnerOf(execution: Execution): Runner;
  /** Called when the log of an execution has grown. */
  onLog(executionId: string): void;
  save: SaveExecution;
  /** Aborted when the service stops. */
  closing: AbortSignal;
  /** Called when the runner of the execution does not answer, and when it does again. */
  onOutage?(isOut: boolean): void;
  /** Called when the command is over and the end is about to be stored. */
  onCommandOver?(): void;
}
