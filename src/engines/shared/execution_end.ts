/**
 * The ends of executions: the record's fields by the exit code, or by the reason for stopping.
 *
 * @module
 */
import { retryNote } from "../../store/records/attempts.ts";
import type { Execution } from "../../store/records/executions.ts";

const REASON_LENGTH_MAX = 1_024;

/** The end of an execution. */
export interface Ending {
  status: "stopped" | "error" | "complete";
  /** One sentence without a full stop. */
  reason?: string;
}

/** The ending of an execution that somebody asked to stop. */
export function stopped(reason = "Stopped by request"): Ending {
  return { status: "stopped", reason };
}

/** The ending of an execution that has failed. */
export function failure(reason: string): Ending {
  return { status: "error", reason };
}

/**
 * The ending of an execution whose command has left an exit code.
 *
 * @param doubt the reason why its results may be incomplete all the same
 */
export function endingByExitCode(exitCode: number, doubt?: string): Ending {
  if (exitCode === 0) return doubt === undefined ? { status: "complete" } : failure(doubt);
  return failure(`The command ended with exit code ${exitCode}`);
}

/** The facts that are known when an execution ends. */
export interface End {
  ending: Ending;
  exitCode?: number | undefined;
  /** When it ended, in milliseconds since the epoch. */
  at_ms: number;
}

/** Writes an end into the record. */
export function writeEnd(execution: Execution, { ending, exitCode, at_ms }: End): void {
  const { status, reason } = ending;
  execution.status = status;
  if (reason !== undefined) execution.reason = reason.slice(0, REASON_LENGTH_MAX);
  if (exitCode !== undefined) execution.exit_code = exitCode;
  execution.ended_at = new Date(at_ms).toISOString();
  if (execution.started_at !== undefined) {
    execution.duration = Math.max(0, at_ms - Date.parse(execution.started_at)) / 1_000;
  }
  delete execution.engine_state;
  delete execution.waiting;
  delete execution.reachable;
}

/** Returns the last lines of the log of an execution that has ended: why, and when it is tried again. */
export function endLines(execution: Execution): string[] {
  return [execution.reason, retryNote(execution)].filter((line) => line !== undefined);
}

/** Makes an execution that has completed one that failed. */
export function failInstead(execution: Execution, reason: string): void {
  if (execution.status !== "complete") return;
  execution.status = "error";
  execution.reason = reason;
}
