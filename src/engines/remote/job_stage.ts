/**
 * The stage of a job: its files wait there until its agent gets them. It can be made again at any time.
 *
 * @module
 */
import type { InputKeeper } from "../shared/inputs/input_folder.ts";
import type { RemoteFiles } from "../shared/inputs/remote_files.ts";

/** An open file. */
export interface OpenFile {
  size?: number;
  stream: ReadableStream<Uint8Array>;
}

/** The files of one job. */
export interface JobStage {
  readonly inputs: InputKeeper;
  /** Fetches input files. */
  readonly remote: RemoteFiles;
  /** Removes all files, and what an earlier service has left. */
  clear(): Promise<void>;
  /** Begins an empty one. */
  begin(): Promise<void>;
  /** Writes texts into a folder of the job. */
  write(folder: string, files: ReadonlyMap<string, string>): Promise<void>;
  /** Has the code written into a new folder, whose path it gives. */
  checkOut(write: (destination: string) => Promise<void>): Promise<void>;
  /** Returns the code and the texts as a tar archive. */
  base(): Promise<ReadableStream<Uint8Array>>;
  /** Opens an input by its path in the folder of all inputs. */
  input(path: string): Promise<OpenFile>;
}

/** The stages of all jobs. */
export interface JobStages {
  of(executionId: string): JobStage;
  /** Waits for what is under way. */
  close(): Promise<void>;
}

/** Returns the permissions of a text. */
export function modeOf(name: string): number {
  return name === "command" || name === "step" ? 0o700 : 0o600;
}
