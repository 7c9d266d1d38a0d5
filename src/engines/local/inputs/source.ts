/**
 * What the sources of input files have in common: each is a function that brings one file.
 *
 * @module
 */
import type { Clock } from "../../../platform/clock.ts";
import type { Execution, InputFile } from "../../../store/records/executions.ts";
import type { Store } from "../../../store/store.ts";
import type { LocalSettings } from "../settings.ts";
import type { Allowance } from "./budget.ts";
import type { InputFolder } from "./input_folder.ts";
import type { RemoteFiles } from "./remote_files.ts";

/** What files take that are not payloads. */
export interface Sources {
  clock: Clock;
  /** The folder of all executions, whose outputs can be inputs. */
  root: string;
  remote: RemoteFiles;
  /** Aborted when the execution is not to start any more. */
  signal: AbortSignal;
  /** Adds a line to the execution's log. */
  tell(message: string): Promise<void>;
}

/** What bringing a file takes. */
export interface Bringing {
  execution: Execution;
  settings: NonNullable<LocalSettings["inputs"]>;
  store: Store;
  sources: Sources;
  allowance: Allowance;
  /** Where it goes. */
  folder: InputFolder;
}

/** A file that was brought. */
export interface BroughtFile {
  /** Its name in its input's folder. */
  name: string;
  size: number;
  sha256?: string;
  /** Where it is from, without credentials. */
  uri?: string;
  datumId?: string;
}

/** The files that were brought, by their inputs. */
export type BroughtInputs = ReadonlyMap<string, readonly BroughtFile[]>;

/** A file of a URL. */
export type UrlFile = Extract<InputFile, { url: string }>;

/** A file that is an output of an earlier execution. */
export type OutputInputFile = Extract<InputFile, { output_of: string }>;
