/**
 * The service's heavy work.
 *
 * @module
 */
import { HeavyWork } from "../platform/heavy_work/heavy_work.ts";
import type { heavyJobs } from "./heavy_jobs.ts";

/** The heavy work of the kinds that the service has. */
export type ServiceHeavyWork = HeavyWork<typeof heavyJobs>;

/** Makes the service's heavy work. Its Worker starts with the first job. */
export function newHeavyWork(): ServiceHeavyWork {
  return new HeavyWork(async (options) => {
    const { Worker } = await import("node:worker_threads");
    return new Worker(new URL("./heavy_jobs.ts", import.meta.url), options);
  });
}
