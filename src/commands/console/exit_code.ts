/**
 * The exit codes of commands that wait for the end of an execution or a pipeline.
 *
 * @module
 */
import type { ExecutionStatus } from "../../store/records/executions.ts";
import type { PipelineStatus } from "../../store/records/pipelines.ts";

const EXIT_CODES: Partial<Record<ExecutionStatus | PipelineStatus, number>> = {
  complete: 0,
  error: 2,
  stopped: 3,
};

/** Returns the exit code for an end. 1 is reserved for failures of the command itself. */
export function exitCodeOf(status: ExecutionStatus | PipelineStatus): number {
  return EXIT_CODES[status] ?? 1;
}

/**
 * Returns the part of a command's help about its exit codes.
 *
 * @param when when they hold, such as `with --wait`; empty when always
 */
export function exitCodesHelp(when: string, what: string): string {
  return `
Exit codes${when === "" ? "" : ` ${when}`}:
  0  the ${what} is complete
  1  the command itself failed, such as without a service
  2  the ${what} ended with an error
  3  the ${what} was stopped`;
}
