/**
 * What a command that waits for work to end exits with.
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

/** The exit code for how work has ended; 1 is left for the failures of the command itself. */
export function exitCodeOf(status: ExecutionStatus | PipelineStatus): number {
  return EXIT_CODES[status] ?? 1;
}

/** What the help of a command says of it. */
export function exitCodesHelp(option: string, what: string): string {
  return `
Exit codes with ${option}:
  0  the ${what} is complete
  1  the command itself failed, such as for want of a service
  2  the ${what} ended as an error
  3  the ${what} was stopped`;
}
