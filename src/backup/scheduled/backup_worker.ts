/**
 * The Worker in which a service makes and proves its backups.
 *
 * @module
 */
import { parentPort, workerData } from "node:worker_threads";
import { BackupError } from "../error.ts";
import { type BackupJob, doBackupJob } from "./job.ts";

const stop = new AbortController();
parentPort?.on("message", () => stop.abort(new BackupError("The service is stopping")));
// The service that starts this Worker gives it the job.
const job = workerData as BackupJob;
parentPort?.postMessage(await doBackupJob(job, stop.signal));
