/**
 * The shape of heavy work: jobs that compute an output from bytes, in a Worker.
 *
 * @module
 */
import { HooklaunchError } from "../errors.ts";

/** The input of a job. It is copied to the Worker, so it holds plain data; large data belongs in `bytes`. */
export interface JobInput {
  bytes: Uint8Array;
}

/** A job: it waits for nothing, and its output is plain data. */
// Of `never`, so that a job of any input is one; the kind's own type is kept where it is called.
export type Job = (input: never) => unknown;

/** The kinds of job. Each is loaded in the Worker when it is first run. */
export type JobKinds = Readonly<Record<string, () => Promise<Job>>>;

/** The job of a kind. */
export type JobOf<Kinds extends JobKinds, Kind extends keyof Kinds> = Awaited<
  ReturnType<Kinds[Kind]>
>;

/** Options of one job. */
export interface JobOptions {
  /** The owner of the job, such as a trigger's id: owners take turns, and each has its share of the queue. */
  key: string;
  /** The time limit of the job, in milliseconds, once it has begun. */
  timeout_ms: number;
  /** Takes the job out of the queue when it aborts. A job that runs is run to its end. */
  signal?: AbortSignal;
}

/** A job ran longer than it may. */
export class JobTimeoutError extends HooklaunchError {
  override readonly code = "job_timeout";

  constructor(readonly timeout_ms: number) {
    super(`Cannot finish a job: it took longer than ${timeout_ms} ms`);
  }
}

/** A job threw. */
export class JobFailedError extends HooklaunchError {
  override readonly code = "job_failed";
}

/** The Worker ended, or did not answer, while it ran a job. */
export class WorkerLostError extends HooklaunchError {
  override readonly code = "worker_lost";
}

/** Runs one job after the other. */
export interface JobRunner {
  run(kind: string, input: JobInput, timeout_ms: number): Promise<JobResult>;
  /** Takes no more jobs. */
  terminate(): void;
}

/** A message to the Worker. */
export interface JobMessage {
  kind: string;
  input: Record<string, unknown>;
  /** Not a typed array: Deno 2.9 copies one between threads byte by byte, at 0.3 s for 1 MB. */
  bytes: ArrayBuffer;
  timeout_ms: number;
}

/** A message from the Worker: it is ready, it begins a job, and the result of the job, in this order. */
export type WorkerMessage = "ready" | "begun" | JobResult;

/** The result of a job; `late` when it took too long, `failure` when it threw. */
export type JobResult = { output: unknown } | { late: true } | { failure: string };
