/**
 * Running a job of scheduled backups in a Worker of its own, which ends with it.
 *
 * @module
 */
import { messageOf } from "../../platform/errors.ts";
import type { BackupJob, JobResult } from "./job.ts";

// Has `deno compile` embed the module: it does not find those of Workers.
void (() => import("./backup_worker.ts"));

/** Runs a job in a Worker. It never rejects. */
export async function runBackupJob(job: BackupJob, signal: AbortSignal): Promise<JobResult> {
  const { Worker } = await import("node:worker_threads");
  const { promise, resolve } = Promise.withResolvers<JobResult>();
  const worker = new Worker(new URL("./backup_worker.ts", import.meta.url), { workerData: job });
  // The end of the process does not wait for it: nothing of it is taken for a backup.
  worker.unref();
  worker.once("message", resolve);
  const failed = (failure: string) => resolve({ failure, isDamaged: false });
  worker.once("error", (error) => failed(`The backup's thread fails: ${messageOf(error)}`));
  worker.once("exit", () => failed("The backup's thread has ended before its work"));
  const stop = () => worker.postMessage("stop");
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", stop);
    await worker.terminate();
  }
}
