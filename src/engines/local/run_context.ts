/**
 * What executions run with.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import type { Execution } from "../../store/records/executions.ts";
import type { RemoteFiles } from "./inputs/mod.ts";
import type { Runner } from "./runners/runner.ts";
import type { PrepareContext } from "./work_folder.ts";

/** How much an execution may print and leave behind, and how it is looked after. */
export interface RunSettings {
  /** Of the log, and of each stream that goes into it. */
  logBytesMax: number;
  /** How many outputs are listed in the record. */
  outputsMax: number;
  /** How long a command may take to end after SIGTERM. */
  grace_ms: number;
  /** How often output and limits are looked at. */
  poll_ms: number;
  /** How often disk use is measured at most. */
  disk_ms: number;
  /** How long fetching a container's image may take. */
  pull_ms: number;
  /** How long an engine of containers that cannot be reached is tried again. */
  reach_ms: number;
}

/** What an execution runs with. */
export interface RunContext extends Omit<PrepareContext, "sources"> {
  clock: Clock;
  /** The folder of all executions. */
  root: string;
  /** Files of URLs, for all executions. */
  remote: RemoteFiles;
  /** Another one after each start of the machine. */
  bootId: string;
  settings: RunSettings;
  runnerOf(execution: Execution): Runner;
  /** Stores the record as it is. False when the service stops before that can be done. */
  save(execution: Execution): Promise<boolean>;
  /** Told when its command is over, and only its end is to be stored. */
  onCommandOver?(): void;
}
