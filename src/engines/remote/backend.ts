/**
 * The interface of a back end, by which the remote engine speaks to a cluster. A back end keeps no state:
 * all of it is in the records of executions and jobs.
 *
 * @module
 */
import type { Execution } from "../../store/records/executions.ts";
import { HooklaunchError } from "../../platform/errors.ts";

/** The cluster will never take this job as it is. The message is for the owner. */
export class LaunchRefusedError extends HooklaunchError {
  override readonly code = "launch_refused";
}

/** The cluster did not take this job now, and has nothing of it. It is submitted again after a while. */
export class LaunchLaterError extends HooklaunchError {
  override readonly code = "launch_later";
}

/** A job as it is found again. */
export interface JobRef {
  /** Unique: the execution's id, followed by `-1`, `-2`… where it is run again. */
  name: string;
  execution: Execution;
  /** The cluster's own id; undefined when it is not known. */
  id?: string;
}

/** A job to be launched. */
export interface JobSpec extends JobRef {
  /** The shell script that runs the job. It holds a token. */
  script: string;
}

/** A job that was launched, or that was there already. */
export interface Launched {
  /** The cluster's own id, if it has one. */
  id?: string;
  /**
   * True when the cluster has made all of it for this launch. Of a job of this name that was there already, nobody
   * knows who launched it.
   */
  isNew: boolean;
}

/** The state of a job, as its cluster says. */
export type Seen =
  /** It waits. The detail is the cluster's own reason. */
  | { kind: "pending"; detail?: string }
  /** It runs. The detail is the reason for which the cluster is about to end it. */
  | { kind: "running"; detail?: string }
  /** The cluster is known not to have it. */
  | { kind: "absent" }
  /** It cannot be told. The detail is the reason, such as a machine that does not answer. */
  | { kind: "unknown"; detail?: string }
  /**
   * It has ended. `isLost` means that its machine or the cluster failed, and not the job; `isExit` that its script
   * has ended by itself, with any exit code; `isOver` that nothing of it runs any more, not even its agent.
   */
  | { kind: "ended"; reason?: string; isLost?: boolean; isExit?: boolean; isOver?: boolean };

/** Runs jobs on one cluster. What rejects means that the cluster cannot be reached, unless it says otherwise. */
export interface Backend {
  /**
   * Launches a job. A job of this name that is there already counts as launched, where the cluster can tell.
   *
   * @throws {LaunchRefusedError} when the cluster will never take it
   * @throws {LaunchLaterError} when the cluster does not take it now
   */
  launch(job: JobSpec, signal: AbortSignal): Promise<Launched>;
  /** Looks at many jobs with few requests. What is missing in the answer is `unknown`. */
  look(jobs: readonly JobRef[], signal: AbortSignal): Promise<ReadonlyMap<string, Seen>>;
  /** Ends a job. One that is not there, or has ended, counts as ended. */
  cancel(job: JobRef, signal: AbortSignal): Promise<void>;
  /** Removes what the cluster keeps of a job that has ended. */
  remove(job: JobRef, signal: AbortSignal): Promise<void>;
  /** Closes its connections. Nothing is asked afterwards. */
  close?(): void;
}
