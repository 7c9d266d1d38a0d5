/**
 * The service's side of the Worker.
 *
 * @module
 */
import { deadline } from "@std/async/deadline";
import type { Worker, WorkerOptions } from "node:worker_threads";
import { on } from "node:events";
import { setImmediate } from "node:timers";
import { ignoreTimeout } from "../waiting/promises.ts";
import { messageOf } from "../errors.ts";
import {
  type JobInput,
  type JobMessage,
  type JobResult,
  type JobRunner,
  WorkerLostError,
  type WorkerMessage,
} from "./job.ts";

/**
 * Of JavaScript values in the Worker, in MiB. A Worker that needs more ends; without this limit the whole
 * process would.
 */
const HEAP_MIB_MAX = 256;
const YOUNG_HEAP_MIB_MAX = 16;
/** The time in which the Worker starts, and loads a kind of job. */
const LOADING_MS_MAX = 10_000;
/** The time after a job's own limit in which the Worker answers. */
const GRACE_MS = 1_000;
/** To copy 16 MiB at once takes up to 30 ms; between these parts others are served. */
const COPIED_BYTES = 1024 * 1024;

/** Makes the Worker. `Worker` of node:worker_threads, as the Web's has no limit of memory in Deno 2.9. */
export type CreateWorker = (options: WorkerOptions) => Promise<Worker>;

/** A Worker that runs one job after the other. */
export class WorkerHandle implements JobRunner {
  readonly #worker: Worker;
  readonly #messages: AsyncIterator<[WorkerMessage]>;

  private constructor(worker: Worker) {
    this.#worker = worker;
    // The messages are those that the Worker's own module sends.
    this.#messages = on(worker, "message", { close: ["exit"] }) as AsyncIterator<[WorkerMessage]>;
  }

  /**
   * Starts a Worker.
   *
   * @throws {WorkerLostError} when it does not start
   */
  static async start(create: CreateWorker): Promise<WorkerHandle> {
    const resourceLimits = {
      maxOldGenerationSizeMb: HEAP_MIB_MAX,
      maxYoungGenerationSizeMb: YOUNG_HEAP_MIB_MAX,
    };
    const handle = new WorkerHandle(await create({ name: "heavy work", env: {}, resourceLimits }));
    try {
      await handle.#next(LOADING_MS_MAX);
      return handle;
    } catch (error) {
      handle.terminate();
      throw error;
    }
  }

  /**
   * Runs a job.
   *
   * @throws {WorkerLostError} when the Worker ends or does not answer: it is of no use then
   */
  async run(kind: string, { bytes, ...input }: JobInput, timeout_ms: number): Promise<JobResult> {
    const copy = await copyOf(bytes);
    const job: JobMessage = { kind, input, bytes: copy, timeout_ms };
    this.#worker.postMessage(job, [copy]);
    await this.#next(LOADING_MS_MAX);
    const result = await this.#next(timeout_ms + GRACE_MS);
    if (typeof result === "string") {
      throw new WorkerLostError(`The Worker says ${result} too early`);
    }
    return result;
  }

  /** Ends the Worker. In Deno 2.9 this interrupts no job: one that runs ends at its own time limit. */
  terminate(): void {
    void this.#worker.terminate();
  }

  async #next(wait_ms: number): Promise<WorkerMessage> {
    let found: IteratorResult<[WorkerMessage]> | undefined;
    try {
      found = await deadline(this.#messages.next(), wait_ms).catch(ignoreTimeout);
    } catch (error) {
      throw new WorkerLostError(`The Worker for heavy work failed: ${messageOf(error)}`);
    }
    if (found && !found.done) return found.value[0];
    const reason = found ? "ended" : "does not answer, or needed more memory than it may have";
    throw new WorkerLostError(`The Worker for heavy work ${reason}`);
  }
}

async function copyOf(bytes: Uint8Array): Promise<ArrayBuffer> {
  const copy = new Uint8Array(bytes.length);
  for (let start = 0; start < bytes.length; start += COPIED_BYTES) {
    if (start > 0) await new Promise<void>((resolve) => void setImmediate(resolve));
    copy.set(bytes.subarray(start, start + COPIED_BYTES), start);
  }
  return copy.buffer;
}
