/**
 * The surroundings of the local engine.
 *
 * @module
 */
import type { ArtifactStore } from "../../artifacts/store.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Execution } from "../../store/records/executions.ts";
import type { Store } from "../../store/store.ts";
import type { Engine, SecretsOfSteps } from "../engine.ts";
import type { RunContext, RunSettings } from "./run_context.ts";

/** The limits and intervals of runs unless an engine is given others. */
export const SETTINGS: RunSettings = {
  logBytesMax: 64 * 1024 * 1024,
  outputsMax: 1_000,
  grace_ms: 10_000,
  poll_ms: 150,
  disk_ms: 5_000,
  pull_ms: 30 * 60_000,
  reach_ms: 20_000,
};

/** The surroundings of the local engine. */
export interface LocalEngineOptions {
  store: Store;
  /** Gets copies of what executions leave, where all instances share it. */
  artifacts?: ArtifactStore;
  /** The code of projects. */
  projects: Pick<RunContext, "checkout">;
  secrets?: SecretsOfSteps;
  clock: Clock;
  /** Opens an output of an execution of any engine. Default: of this one. */
  openOutput?: Engine["output"];
  /** The service's data folder. Work folders are in `executions/<id>/` below it. */
  dataFolder: string;
  /** Returns false while the disk has no room for the files of more executions of other instances. */
  hasRoom?(): boolean;
  /** The most executions that run at once. Default: the number of processors. */
  executionsMax?: number;
  /** The most waiting executions in memory. Default 1,000. */
  waitingMax?: number;
  settings?: Partial<RunSettings>;
  /** Called after each change of a record is stored. */
  onChange?: (execution: Execution) => void;
}
