/**
 * The ends of jobs: what an agent reported, or what is known without it, makes the end of an execution.
 *
 * @module
 */
import { RECORD_BYTES_MAX } from "../../store/records/record_size.ts";
import { type Execution, hasEnded } from "../../store/records/executions.ts";
import { type Job, jobOutputs, removeJobOutputs } from "../../store/records/jobs.ts";
import { artifactKeys } from "../../artifacts/keys.ts";
import { diskLimit_mb } from "../../projects/code/size_guard.ts";
import {
  type End,
  type Ending,
  endingByExitCode,
  endLines,
  failInstead,
  failure,
  stopped,
  writeEnd,
} from "../shared/execution_end.ts";
import { shown, takeOutputs, writeMetadata } from "../shared/results.ts";
import { encodeLine } from "../shared/log_format.ts";
import { logWrites } from "../../store/records/jobs.ts";
import type { Seen } from "./backend.ts";
import type { RemoteContext } from "./context.ts";
import type { JobMetadata } from "./job_metadata.ts";
import { eventWrites } from "./job_log.ts";

/** Limit of the runs of an execution whose end is unknown. */
const RERUNS_MAX = 3;
/** The exit code of a command that SIGKILL has ended. */
const KILLED = 128 + 9;
const TERMINATED = "The engine ended the job before its command had ended";

/** The surroundings of an end. */
export interface EndParts {
  context: RemoteContext;
  metadata: JobMetadata;
}

/** Returns the ending of an execution that was decided before its command has ended. */
export function decidedEnding({ engine_state }: Execution): Ending | undefined {
  // Only `decideEnding` writes it.
  return engine_state?.ending as Ending | undefined;
}

/** Decides how an execution ends once its command has. */
export function decideEnding(execution: Execution, ending: Ending): void {
  execution.status = "stopping";
  execution.engine_state = { ...execution.engine_state, ending };
}

/** Returns true for a job whose agent was told to end, and only its cluster knows why. */
export function isUnexplained(execution: Execution, { end }: Job): boolean {
  return end?.cause === "terminated" && decidedEnding(execution) === undefined;
}

/**
 * Ends an execution as its agent has reported.
 *
 * @param seen what the cluster says of a job whose agent was told to end
 */
export async function endAsReported(
  execution: Execution,
  job: Job,
  parts: EndParts,
  seen?: Seen,
): Promise<void> {
  if (job.end === undefined || hasEnded(execution.status)) return;
  const { exit_code, cause, at } = job.end;
  if (isUnexplained(execution, job)) return await lose(execution, job, lossBy(seen), parts);
  const ending = decidedEnding(execution) ?? reportedEnding(execution, job.end);
  const byAgent = cause !== undefined && cause !== "out_of_memory" ||
    decidedEnding(execution) !== undefined;
  const wasKilled = exit_code === KILLED && byAgent;
  const exitCode = wasKilled ? undefined : exit_code;
  await end(execution, job, { ending, exitCode, at_ms: Date.parse(at) }, parts);
}

function lossBy(seen: Seen | undefined): Loss {
  // That the agent itself has ended explains nothing.
  if (seen?.kind === "ended" && !seen.isExit) {
    const reason = `${TERMINATED}${seen.reason === undefined ? "" : `: ${seen.reason}`}`;
    return { reason, mayRunAgain: seen.isLost === true };
  }
  const why = seen?.kind === "running" && seen.detail ? `: ${seen.detail}` : "";
  return { reason: `${TERMINATED}${why}`, mayRunAgain: true };
}

function reportedEnding(
  { time_limit, no_output_timeout }: Execution,
  { exit_code, cause, reason }: NonNullable<Job["end"]>,
): Ending {
  if (cause === "stopped") return stopped();
  if (cause === "time_limit") return failure(`Stopped: time limit of ${time_limit} s reached`);
  if (cause === "out_of_memory") return failure("Killed: it took more memory than its limit");
  if (cause === "no_output") return failure(`Stopped: no output for ${no_output_timeout} s`);
  if (reason !== undefined) return failure(`Cannot run: ${reason}`);
  if (exit_code === undefined) return failure("The command left no exit code");
  return endingByExitCode(exit_code);
}

/** The loss of a job. */
interface Loss {
  /** A sentence without a full stop. */
  reason: string;
  /** False when it would fail again. */
  mayRunAgain: boolean;
}

/** Ends an execution whose end is unknown, or has it run again from the start. */
export async function lose(
  execution: Execution,
  job: Job,
  { reason, mayRunAgain }: Loss,
  parts: EndParts,
): Promise<void> {
  const { context } = parts;
  const decided = decidedEnding(execution);
  const isWanted = mayRunAgain && execution.rerun === true && decided === undefined;
  if (!isWanted || job.attempt >= RERUNS_MAX) {
    const at_ms = context.clock.now();
    return await end(execution, job, { ending: decided ?? failure(reason), at_ms }, parts);
  }
  // The outputs of the earlier run must not become those of this one.
  await context.artifacts.remove(`${artifactKeys.output(job.id, "")}`);
  await removeJobOutputs(context.store, job.id);
  const reruns = job.attempt + 1;
  const time = context.time;
  const message = `${reason}: it is run again from the start (${reruns} of ${RERUNS_MAX})`;
  const writes = logWrites(job, [encodeLine({ time, stream: "event", message, isRestart: true })]);
  renew(job, reruns);
  execution.started_at = time;
  execution.metadata = execution.given_metadata ?? {};
  delete execution.machine;
  parts.metadata.forget(job.id);
  context.unhear(job.id);
  await context.save({ execution, job, writes });
}

/** Makes a job one that is to be submitted. No earlier agent can act for it any more. */
function renew(job: Job, attempt: number): void {
  Object.assign(job, {
    attempt,
    state: "planned",
    submissions: 0,
    tokens: [],
    stored: { stdout: 0, stderr: 0 },
    in_long_line: [],
  });
  delete job.claim;
  delete job.end;
  delete job.ref;
  delete job.submitted_at;
  delete job.launch_error;
  delete job.is_own;
  delete job.stop_at;
}

/** Stores an end with all results. */
export async function end(
  execution: Execution,
  job: Job,
  known: End,
  { context, metadata }: EndParts,
): Promise<void> {
  writeEnd(execution, known);
  const { metadata: found } = await metadata.of(job, execution);
  // An execution behind this one in a pipeline gets all results of this one, or none.
  if (!writeMetadata(execution, found, RECORD_BYTES_MAX)) {
    failInstead(execution, "Too much metadata for its record beside its inputs");
  }
  const files = await jobOutputs(context.store, job.id);
  const { missing = 0, left_out = [] } = job.end ?? {};
  const outputs = { files, more: missing, isTooLarge: false };
  takeOutputs(execution, outputs, diskLimit_mb(execution.engine));
  const messages = [
    ...left_out.length > 0 ? [`Not listed as outputs: ${shown(left_out)}`] : [],
    ...endLines(execution),
  ];
  const time = context.time;
  const writes = messages.flatMap((message) => eventWrites(job, { time, message }));
  close(job, time);
  await context.save({ execution, job, writes });
  metadata.forget(job.id);
}

/** Closes a job: its agent may repeat its last request, and nothing else. */
export function close(job: Job, time: string): void {
  job.state = "closed";
  job.closed_at = time;
  job.tokens = job.claim === undefined ? [] : job.tokens;
}
