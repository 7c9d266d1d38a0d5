/**
 * The interface of the sources of input files. A source is a function that stages one file: it puts the file
 * into the work folder.
 *
 * @module
 */
import type { Clock } from "../../../platform/clock.ts";
import type { Execution, InputFile } from "../../../store/records/executions.ts";
import type { Store } from "../../../store/store.ts";
import type { EngineOutput } from "../../engine.ts";
import type { InputSettings } from "./settings.ts";
import type { InputBudget } from "./budget.ts";
import type { InputFolder, InputKeeper } from "./input_folder.ts";
import type { RemoteFiles } from "./remote_files.ts";

/** The sources of an execution's files. */
export interface Sources {
  store: Store;
  clock: Clock;
  /** Opens an output of an execution of any engine; undefined when there is none. */
  openOutput(executionId: string, path: string): Promise<EngineOutput | undefined>;
  remote: RemoteFiles;
  /** Aborted when the execution must not start any more. */
  signal: AbortSignal;
  /** Adds a line to the execution's log. */
  logEvent(message: string): Promise<void>;
}

export interface StagingContext {
  execution: Execution;
  settings: InputSettings;
  sources: Sources;
  budget: InputBudget;
  /** The folder that the file goes into. */
  folder: InputFolder;
  keeper: InputKeeper;
}

/** A file that a URL names. */
export type UrlFile = Extract<InputFile, { url: string }>;

/** A file that is an output of an earlier execution. */
export type OutputInputFile = Extract<InputFile, { output_of: string }>;

/** A file that is the payload of a run. */
export type PayloadFile = Extract<InputFile, { payload_of: string }>;
