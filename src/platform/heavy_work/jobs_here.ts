/**
 * Heavy work in the thread that answers requests, for places where no Worker starts. It is bounded by smaller
 * limits: while a job runs, nothing else does.
 *
 * @module
 */
import { UnavailableError } from "../errors.ts";
import type { JobInput, JobKinds, JobResult, JobRunner } from "./job.ts";
import { loadJob, performJob } from "./perform_job.ts";

/** The longest input of a job. */
const BYTES_MAX = 256 * 1024;
/** The longest time of a job: so long others wait. */
const TIMEOUT_MS_MAX = 100;
const RETRY_AFTER_S = 60;

/** Runs jobs in this thread. */
export class JobsHere implements JobRunner {
  readonly #kinds: JobKinds;

  constructor(kinds: JobKinds) {
    this.#kinds = kinds;
  }

  /** @throws {UnavailableError} when the input is too long */
  async run(kind: string, input: JobInput, timeout_ms: number): Promise<JobResult> {
    const { length } = input.bytes;
    if (length > BYTES_MAX) {
      throw new UnavailableError(
        `Cannot do heavy work on ${length} bytes: without a Worker, at most ${BYTES_MAX} are allowed`,
        RETRY_AFTER_S,
      );
    }
    const job = await loadJob(this.#kinds, kind);
    return await performJob(job, input, Math.min(timeout_ms, TIMEOUT_MS_MAX));
  }

  terminate(): void {}
}
