/**
 * The Worker's side of heavy work.
 *
 * @module
 */
import { parentPort } from "node:worker_threads";
import type { JobKinds, JobMessage, JobResult, WorkerMessage } from "./job.ts";
import { loadJob, performJob } from "./perform_job.ts";

/** Runs the jobs that the service sends. A Worker's module calls it once. */
export function serveJobs(kinds: JobKinds): void {
  parentPort?.on("message", async ({ kind, input, bytes, timeout_ms }: JobMessage) => {
    const job = await loadJob(kinds, kind);
    post("begun");
    const result = await performJob(job, { ...input, bytes: new Uint8Array(bytes) }, timeout_ms);
    post(result, buffersIn(result));
  });
  post("ready");
}

/** Lists the buffers of an output: they move to the service without a copy. */
function buffersIn(result: JobResult): ArrayBuffer[] {
  if (!("output" in result) || typeof result.output !== "object") return [];
  return Object.values(result.output ?? {}).filter((value) => value instanceof ArrayBuffer);
}

function post(message: WorkerMessage, buffers: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, buffers);
}
