/**
 * The service's heavy work.
 *
 * @module
 */
import type { WorkerOptions } from "node:worker_threads";
import { HeavyWork } from "../platform/heavy_work/heavy_work.ts";
import type { heavyJobs } from "./job_kinds.ts";

/** The heavy work of the kinds that the service has. */
export type ServiceHeavyWork = HeavyWork<typeof heavyJobs>;

// Has `deno compile` embed the module: it does not find those of Workers.
void (() => import("./heavy_jobs.ts"));

/** Makes the service's heavy work. Its Worker starts with the first job. */
export function newHeavyWork(
  { worksHere = false }: {
    /** True to do the work in this thread, within smaller limits, where no Worker starts. */
    worksHere?: boolean;
  } = {},
): ServiceHeavyWork {
  const createWorker = async (options: WorkerOptions) => {
    const { Worker } = await import("node:worker_threads");
    return new Worker(new URL("./heavy_jobs.ts", import.meta.url), options);
  };
  if (!worksHere) return new HeavyWork(createWorker);
  return new HeavyWork(createWorker, {
    async fallback() {
      const [{ JobsHere }, { heavyJobs }] = await Promise.all([
        import("../platform/heavy_work/jobs_here.ts"),
        import("./job_kinds.ts"),
      ]);
      return new JobsHere(heavyJobs);
    },
  });
}
