/**
 * Heavy work, off the thread that answers requests: reading large bodies and files, evaluating filters
 * over them. All of it runs in one Worker, which starts with the first job and ends when it is idle.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf, UnavailableError } from "../errors.ts";
import { FairQueue } from "../waiting/fair_queue.ts";
import {
  JobFailedError,
  type JobInput,
  type JobKinds,
  type JobOf,
  type JobOptions,
  type JobResult,
  type JobRunner,
  JobTimeoutError,
  WorkerLostError,
} from "./job.ts";
import { type CreateWorker, WorkerHandle } from "./worker_handle.ts";

/** The number of jobs that wait. One key has at most as many as are left to all other keys. */
const WAITING_MAX = 256;
/** The time that a job waits to begin. GitHub gives up on a request after 10 s. */
const WAIT_MS_MAX = 5_000;
/** An idle Worker holds some 25 MiB, and the garbage of its last job. */
const IDLE_MS = 60_000;
const RETRY_AFTER_S = 2;
/** After a longer job its key rests for the time that the job took. So no key keeps a processor busy. */
const SHORT_MS = 100;
const REST_MS_MAX = 2_000;

const log = getLogger(["hooklaunch"]);

/** Options of {@linkcode HeavyWork}. */
interface HeavyWorkOptions {
  idle_ms?: number;
  short_ms?: number;
  /** Makes what runs the jobs where no Worker starts. Without it, there is no heavy work then. */
  fallback?: () => Promise<JobRunner>;
}

/** A job that waits or runs. */
interface Pending {
  key: string;
  kind: string;
  input: JobInput;
  timeout_ms: number;
  done: PromiseWithResolvers<JobResult>;
  /** Called when the job begins. */
  begin(): void;
}

/**
 * Runs jobs in a Worker, one at a time; the keys take turns, and rest after a long job.
 *
 * @example
 * ```ts
 * const { value } = await heavyWork.run("yaml", { bytes }, { key: project, timeout_ms: 2_000 });
 * ```
 */
export class HeavyWork<Kinds extends JobKinds> implements Disposable {
  readonly #createWorker: CreateWorker;
  readonly #fallback: (() => Promise<JobRunner>) | undefined;
  readonly #idle_ms: number;
  readonly #short_ms: number;
  readonly #queue = new FairQueue<Pending>(WAITING_MAX);
  #worker: JobRunner | undefined;
  #running: Pending | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #restEnd: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(
    createWorker: CreateWorker,
    { idle_ms = IDLE_MS, short_ms = SHORT_MS, fallback }: HeavyWorkOptions = {},
  ) {
    this.#createWorker = createWorker;
    this.#fallback = fallback;
    this.#idle_ms = idle_ms;
    this.#short_ms = short_ms;
  }

  /**
   * Runs a job and returns its output.
   *
   * @throws {UnavailableError} when the key has too many jobs waiting, the job waited for more than 5 s, the
   * Worker cannot start, or the service stops
   * @throws {JobTimeoutError} when the job ran for longer than `timeout_ms`
   * @throws {WorkerLostError} when the job needed more memory than the Worker may have
   * @throws {JobFailedError} when the job threw
   * @throws {unknown} the signal's reason, when it aborted before the job began
   */
  async run<Kind extends keyof Kinds & string>(
    kind: Kind,
    input: Parameters<JobOf<Kinds, Kind>>[0] & JobInput,
    options: JobOptions,
  ): Promise<ReturnType<JobOf<Kinds, Kind>>> {
    const result = await this.#enqueue(kind, input, options);
    // The Worker runs the job of this kind.
    if ("output" in result) return result.output as ReturnType<JobOf<Kinds, Kind>>;
    if ("late" in result) throw new JobTimeoutError(options.timeout_ms);
    throw new JobFailedError(result.failure);
  }

  /** Ends the Worker; the jobs that wait or run are given up. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    clearTimeout(this.#restEnd);
    this.#stopWorker();
    const stopping = new UnavailableError("Cannot do the work: the service is stopping", 1);
    this.#running?.done.reject(stopping);
    for (let job = this.#queue.take(Infinity); job; job = this.#queue.take(Infinity)) {
      job.done.reject(stopping);
    }
  }

  async #enqueue(
    kind: string,
    input: JobInput,
    { key, timeout_ms, signal }: JobOptions,
  ): Promise<JobResult> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw unavailable("the service is stopping");
    const done = Promise.withResolvers<JobResult>();
    const leave = (error: unknown) => {
      this.#queue.remove(key, job);
      done.reject(error);
    };
    const late = () => leave(unavailable(`it waited for ${WAIT_MS_MAX} ms behind other work`));
    const abort = () => leave(signal?.reason);
    const timer = setTimeout(late, WAIT_MS_MAX);
    signal?.addEventListener("abort", abort);
    const begin = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    };
    const job: Pending = { key, kind, input, timeout_ms, done, begin };
    if (!this.#queue.add(key, job)) leave(unavailable("too much of it waits already"));
    this.#next();
    return await done.promise.finally(begin);
  }

  /** Begins the next job, unless one runs or all keys rest. */
  #next(): void {
    if (this.#running || this.#isClosed) return;
    clearTimeout(this.#idle);
    clearTimeout(this.#restEnd);
    const began_ms = performance.now();
    this.#running = this.#queue.take(began_ms);
    if (this.#running === undefined) return this.#wait(began_ms);
    const { begin, done, key, ...job } = this.#running;
    begin();
    this.#perform(job).then(done.resolve, done.reject).finally(() => {
      const now_ms = performance.now();
      const taken_ms = now_ms - began_ms;
      const rest_ms = taken_ms > this.#short_ms ? Math.min(taken_ms, REST_MS_MAX) : 0;
      if (rest_ms > 0) this.#queue.rest(key, now_ms + rest_ms);
      this.#running = undefined;
      this.#next();
    });
  }

  /** Waits until a key with a job has rested. Without jobs, plans the end of the idle Worker. */
  #wait(now_ms: number): void {
    const { restEnd_ms } = this.#queue;
    if (restEnd_ms !== undefined) {
      this.#restEnd = setTimeout(() => this.#next(), restEnd_ms - now_ms);
      return;
    }
    this.#idle = setTimeout(() => this.#stopWorker(), this.#idle_ms);
    Deno.unrefTimer(this.#idle);
  }

  async #perform(
    { kind, input, timeout_ms }: Pick<Pending, "kind" | "input" | "timeout_ms">,
  ): Promise<JobResult> {
    const worker = this.#worker ??= await this.#startWorker();
    if (this.#isClosed) {
      this.#stopWorker();
      throw unavailable("the service is stopping");
    }
    try {
      return await worker.run(kind, input, timeout_ms);
    } catch (error) {
      if (error instanceof WorkerLostError) this.#stopWorker();
      throw error;
    }
  }

  async #startWorker(): Promise<JobRunner> {
    try {
      return await WorkerHandle.start(this.#createWorker);
    } catch (error) {
      if (this.#fallback) {
        log.warn("Heavy work has smaller limits: no Worker starts: {error}", { error });
        return await this.#fallback();
      }
      log.error("Cannot start the Worker for heavy work: {error}", { error });
      throw new UnavailableError(`Cannot start a Worker: ${messageOf(error)}`, RETRY_AFTER_S);
    }
  }

  #stopWorker(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }
}

function unavailable(reason: string): UnavailableError {
  return new UnavailableError(`Cannot do heavy work now: ${reason}`, RETRY_AFTER_S);
}
