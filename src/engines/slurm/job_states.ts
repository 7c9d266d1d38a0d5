/**
 * The states of Slurm's jobs, as slurmrestd tells them.
 *
 * @module
 */
import type { Seen } from "../remote/backend.ts";

/** A job in a list of slurmrestd. Later versions of its API give some fields another form. */
export interface SlurmJob {
  job_id: number;
  name: string;
  comment?: string;
  job_state: string | string[];
  state_reason?: string;
  state_description?: string;
  exit_code?: number | { return_code?: { number?: number } };
}

/** States of jobs that have not started, and of those whose machine failed. All of slurm.h. */
const WAITING = [
  "PENDING",
  "REQUEUED",
  "REQUEUE_HOLD",
  "REQUEUE_FED",
  "SPECIAL_EXIT",
  "CONFIGURING",
];
const ENDED = [
  "COMPLETED",
  "CANCELLED",
  "FAILED",
  "TIMEOUT",
  "DEADLINE",
  "OUT_OF_MEMORY",
  "REVOKED",
];
const LOST = ["NODE_FAIL", "BOOT_FAIL", "PREEMPTED"];

/** Reasons that say nothing. */
const NO_REASON: readonly unknown[] = [undefined, "", "None"];

/** Returns the state of a job. */
export function seenOf(job: SlurmJob): Seen {
  const states = [job.job_state].flat();
  const [state = ""] = states;
  if (states.some((each) => LOST.includes(each))) {
    return { kind: "ended", reason: endOf(state, job), isLost: true };
  }
  if (states.some((each) => ENDED.includes(each))) {
    const isExit = state === "COMPLETED" || state === "FAILED";
    return { kind: "ended", reason: endOf(state, job), isExit };
  }
  if (!states.some((each) => WAITING.includes(each))) return { kind: "running" };
  const detail = reasonOf(job);
  return { kind: "pending", ...(detail === undefined ? {} : { detail }) };
}

/** Returns the job that counts, of several with one name: one that runs, or else waits, or else the last. */
export function chosenJob(jobs: readonly SlurmJob[]): SlurmJob | undefined {
  const of = (kind: Seen["kind"]) => jobs.findLast((job) => seenOf(job).kind === kind);
  return of("running") ?? of("pending") ?? jobs.at(-1);
}

function reasonOf({ state_reason, state_description = "" }: SlurmJob): string | undefined {
  const reason = NO_REASON.includes(state_reason) ? undefined : state_reason;
  return state_description === "" ? reason : state_description;
}

function endOf(state: string, job: SlurmJob): string {
  const { exit_code } = job;
  const code = typeof exit_code === "number"
    ? exitCodeOf(exit_code)
    : exit_code?.return_code?.number;
  const reason = reasonOf(job);
  return [
    `the state in Slurm is ${state}`,
    ...reason === undefined ? [] : [reason],
    ...code === undefined || code === 0 ? [] : [`exit code ${code}`],
  ].join(", ");
}

/** Decodes a status of wait(2). */
function exitCodeOf(status: number): number {
  const signal = status & 0x7f;
  return signal === 0 ? status >> 8 & 0xff : 128 + signal;
}
