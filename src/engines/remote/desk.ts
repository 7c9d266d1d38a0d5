/**
 * The desk of jobs: what the routes that agents call ask for. Nothing here knows HTTP.
 *
 * @module
 */

import type { PresignedPut } from "../../artifacts/store.ts";
import { ConflictError, HooklaunchError } from "../../platform/errors.ts";
import { isJobOver, type Job } from "../../store/records/jobs.ts";

/** The token of a job was shown after the job had ended. */
export class JobEndedError extends HooklaunchError {
  override readonly code = "job_ended";

  constructor(executionId: string) {
    super(`Cannot act for execution ${executionId}: its job has ended`);
  }
}

/** The right to act for one job. Only {@linkcode JobDesk.admit} gives one. */
export interface JobPass {
  readonly executionId: string;
  /** The hash of the token that was shown. */
  readonly tokenHash: string;
  /** The claim of the agent; undefined before it has one. */
  readonly claimId: string | undefined;
  /** True when the job has ended. The pass is good for a repeat of the report of its end, and for nothing else. */
  readonly hasEnded: boolean;
}

/** An agent that wants a job, and where it is. */
export interface JobClaim {
  /** An id that the agent has made, so that it can repeat a claim whose answer was lost. */
  claimId: string;
  /** The name of its machine. */
  host: string;
  /** The absolute path of the job's folder there. */
  folder: string;
}

/** The content of a job's folder before its command starts, and the limits of the command. */
export interface JobManifest {
  /** Folders to make, relative to the job's folder. */
  folders: string[];
  files: JobFile[];
  /** The commit that the job fetches itself, with one of the files. */
  code?: string;
  /** True when a shell runs `control/command`; false when that names its own interpreter. */
  shell: boolean;
  timeLimitS?: number;
  noOutputTimeoutS?: number;
  /** Seconds between SIGTERM and SIGKILL. */
  graceS: number;
  /** The most bytes of each stream that are kept. */
  streamBytesMax: number;
  /** The most outputs, and the most bytes that they have together. */
  outputsMax: number;
  outputBytesMax: number;
}

/** A file to bring. */
export interface JobFile {
  /** Relative to the job's folder. Of a `tar` it is the folder to unpack it in. */
  path: string;
  kind: "file" | "tar";
  /** The permissions of a `file`. */
  mode: number;
  /** Known for a `file`. */
  size?: number;
  sha256?: string;
  /** Its key in the artifact store, from which the agent may get it by URL. */
  artifact?: string;
}

/** New output of a command. */
export interface JobBeat {
  stream: "stdout" | "stderr";
  /** The place of the first byte in the stream. */
  offset: number;
  /** May be empty. */
  bytes: Uint8Array;
  /** The time at which the agent saw them, in milliseconds since the epoch. */
  time_ms?: number;
  /** True when nothing follows in this stream: what is behind the last line break counts, too. */
  isLast?: boolean;
  state: "preparing" | "running" | "ended";
}

/** The answer to a beat. */
export interface BeatAnswer {
  /** The offset up to which the stream is stored. */
  acknowledged: number;
  /** True when the command is to end. */
  stop: boolean;
  /** True when no more output is kept. The rest is to be acknowledged all the same. */
  full: boolean;
}

/** An output that an agent offers. */
export interface JobOutput {
  path: string;
  size: number;
  sha256: string;
}

/** The way in which an output comes: it is there, it is sent to the service, or put at an address. */
export type BegunUpload = "stored" | "send" | { put: PresignedPut };

/** The end of a job. */
export interface JobEnd {
  /** Tells this report from any other: a repeat has the same. */
  digest: string;
  /** Absent when the command has not started, or left none. */
  exitCode?: number;
  /** The reason for which the agent has ended the command. */
  cause?: "stopped" | "time_limit" | "no_output" | "out_of_memory" | "terminated";
  /** The reason for which the command did not start, as a sentence without a full stop. */
  reason?: string;
  /** The number of outputs that were uploaded; absent from agents of before. */
  outputs?: number;
  /** Paths of files that could not be uploaded. */
  notUploaded: string[];
  /** Paths of what is no regular file, such as links and pipes. */
  passedOver?: string[];
  /** The lengths of the streams. */
  logEnds: { stdout: number; stderr: number };
}

/** Acts for agents. */
export interface JobDesk {
  /**
   * Admits a request. Undefined when the token is forged, expired, or of another execution, when another agent has
   * the claim, and when the job has ended without a report. Every call below throws {@linkcode JobEndedError} when
   * the job has ended, but for a repeat of the report of its end.
   *
   * @param claimId the agent's claim; undefined when it has none yet
   */
  admit(
    executionId: string,
    token: string,
    claimId: string | undefined,
  ): Promise<JobPass | undefined>;
  /** Claims the job. `taken` when another agent has it, or when it is not wanted any more. */
  claim(pass: JobPass, claim: JobClaim): Promise<"claimed" | "taken">;
  /**
   * Returns what the job needs; `preparing` while that is fetched.
   *
   * @throws {ConflictError} without a claim
   * @throws {ActionError} when it cannot be had: the execution has ended then
   */
  manifest(pass: JobPass): Promise<JobManifest | "preparing">;
  /**
   * Opens a file of the manifest by its place there, or returns a URL that reads it for a short time; undefined
   * when there is none.
   *
   * @param options `opens`: it is to be opened, as where the agent cannot reach the artifact store
   */
  file(
    pass: JobPass,
    index: number,
    options: { opens: boolean },
  ): Promise<{ size?: number; stream: ReadableStream<Uint8Array> } | { url: string } | undefined>;
  /**
   * Takes new output in. Of bytes that are known already only the others are taken. Bytes behind a gap are not.
   *
   * @throws {ConflictError} without a claim
   */
  beat(pass: JobPass, beat: JobBeat): Promise<BeatAnswer>;
  /**
   * Begins an upload: `stored` when that file is there, `send` when {@linkcode JobDesk.upload} takes it, or the
   * URL to put it at.
   *
   * @throws {TooLargeError} when it is over a limit
   * @throws {InvalidInputError} when its path cannot be one
   */
  beginUpload(pass: JobPass, output: JobOutput): Promise<BegunUpload>;
  /**
   * Stores an output.
   *
   * @throws {ArtifactMismatchError} when size or checksum differ
   * @throws {TooLargeError} when it is over a limit, with the others that are stored or under way
   */
  upload(
    pass: JobPass,
    output: JobOutput,
    stream: ReadableStream<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void>;
  /** Takes in what was put at a URL. False when it is not there, or differs. */
  finishUpload(pass: JobPass, output: JobOutput): Promise<boolean>;
  /**
   * Ends the job, and with it its token. A repeat changes nothing.
   *
   * @throws {ConflictError} when less of the log or of the outputs is stored than there is
   */
  end(pass: JobPass, end: JobEnd): Promise<void>;
}

/**
 * Returns the job that a pass is for.
 *
 * @throws {JobEndedError} when it has ended
 * @throws {ConflictError} when its agent does not have the claim, or not any more
 */
export function holder(job: Job | undefined, { executionId, claimId, tokenHash }: JobPass): Job {
  if (job === undefined || isJobOver(job) || !job.tokens.includes(tokenHash)) {
    throw new JobEndedError(executionId);
  }
  if (job.claim?.id === claimId && claimId !== undefined) return job;
  throw new ConflictError(`Cannot act for execution ${executionId}: this agent has no claim to it`);
}
