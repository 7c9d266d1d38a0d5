/**
 * Slurm, as a back end of the remote engine: jobs are submitted through slurmrestd.
 *
 * @module
 */
import type { EngineSettings } from "../../store/records/projects.ts";
import {
  type Backend,
  type JobRef,
  type JobSpec,
  type Launched,
  LaunchRefusedError,
  type Seen,
} from "../remote/backend.ts";
import { chosenJob, seenOf, type SlurmJob } from "./job_states.ts";
import { RestClient, SlurmError } from "./rest_client.ts";
import type { SlurmSettings } from "./settings.ts";

/** Minutes that a job gets beyond the time limit of its step: the agent fetches, uploads, and ends the command. */
const SPARE_MIN = 10;
/** The path of a job. A step may set another one. */
const PATH = "/usr/local/bin:/usr/bin:/bin";

/** Errors of slurm_errno.h that no later submission of the same job avoids, and a request that cannot be read. */
const REFUSALS: readonly unknown[] = [
  ...[2000, 2001, 2002, 2003, 2004, 2005, 2006, 2007, 2008, 2009, 2014, 2015, 2018, 2029, 2045],
  ...[2051, 2066, 2072, 9001, 9202],
];

/** The error of a job that Slurm does not have, or not any more. */
const INVALID_JOB_ID = 2017;

/** Runs jobs on a Slurm cluster. */
export class SlurmBackend implements Backend {
  readonly #settings: SlurmSettings;
  readonly #rest: RestClient;

  /** @param settings as the schema of this engine accepts them */
  constructor(settings: EngineSettings) {
    // The schema checked them when the project was stored.
    this.#settings = settings as unknown as SlurmSettings;
    this.#rest = new RestClient(this.#settings);
  }

  async launch(spec: JobSpec, signal: AbortSignal): Promise<Launched> {
    const body = { script: spec.script, job: jobOf(spec, this.#settings) };
    try {
      const { job_id } = await this.#rest.send("POST", "job/submit", { body, signal });
      return { id: String(job_id), isNew: true };
    } catch (error) {
      const isRefusal = error instanceof SlurmError &&
        error.faults.some(({ error_code }) => REFUSALS.includes(error_code));
      if (isRefusal) throw new LaunchRefusedError(error.message, { cause: error });
      throw error;
    }
  }

  async look(jobs: readonly JobRef[], signal: AbortSignal): Promise<ReadonlyMap<string, Seen>> {
    const known = await this.#jobsByName(signal);
    const seen = new Map<string, Seen>();
    for (const { name } of jobs) {
      const job = chosenJob(known.get(name) ?? []);
      if (job !== undefined) seen.set(name, seenOf(job));
    }
    if (seen.size === jobs.length) return seen;
    // A controller that is away is told from one that does not have a job by this alone.
    await this.#expectController(signal);
    for (const { name } of jobs) {
      if (!seen.has(name)) seen.set(name, { kind: "absent" });
    }
    return seen;
  }

  async cancel(job: JobRef, signal: AbortSignal): Promise<void> {
    for (const { job_id } of await this.#openJobs(job, signal)) {
      await this.#rest.send("DELETE", `job/${job_id}`, { signal });
    }
  }

  /** Slurm forgets ended jobs by itself. One whose agent has ended while it is suspended or held is none. */
  async remove(job: JobRef, signal: AbortSignal): Promise<void> {
    await this.cancel(job, signal);
  }

  async #openJobs({ name, id }: JobRef, signal: AbortSignal): Promise<SlurmJob[]> {
    const jobs = id === undefined
      ? (await this.#jobsByName(signal)).get(name) ?? []
      : (await this.#jobsOf(id, signal)).filter((job) => nameOf(job) === name);
    return jobs.filter((job) => seenOf(job).kind !== "ended");
  }

  async #jobsOf(id: string, signal: AbortSignal): Promise<SlurmJob[]> {
    try {
      const { jobs } = await this.#rest.send("GET", `job/${id}`, { signal });
      return listed(jobs);
    } catch (error) {
      // Slurm forgets ended jobs after some minutes.
      const isGone = error instanceof SlurmError &&
        error.faults.some(({ error_number }) => error_number === INVALID_JOB_ID);
      if (isGone) return [];
      throw error;
    }
  }

  /** Lists the jobs of the cluster by our own name of them, in their order. Slurm uses its ids again. */
  async #jobsByName(signal: AbortSignal): Promise<Map<string, SlurmJob[]>> {
    const { jobs } = await this.#rest.send("GET", "jobs", { signal });
    return Map.groupBy(listed(jobs), nameOf);
  }

  async #expectController(signal: AbortSignal): Promise<void> {
    const { pings } = await this.#rest.send("GET", "ping", { signal });
    const isUp = Array.isArray(pings) &&
      pings.some(({ ping, pinged }) => ping === "UP" || pinged === "UP");
    if (!isUp) throw new SlurmError("the controller of Slurm does not answer", []);
  }
}

/** Returns the jobs of an answer, whose form is that of the API's version. */
function listed(jobs: unknown): SlurmJob[] {
  return Array.isArray(jobs) ? jobs as SlurmJob[] : [];
}

/** Returns our own name of a job. An administrator may have changed the other one. */
function nameOf({ name, comment }: SlurmJob): string {
  return comment || name;
}

/** Returns the fields of a job. There is no `requeue`: with any value Slurm would run a job a second time. */
function jobOf({ name, execution }: JobSpec, settings: SlurmSettings): Record<string, unknown> {
  const { resources = {}, time_limit } = execution;
  const { partition, account, qos, folder, extra } = settings;
  const cpus = resources.cpu === undefined ? settings.cpus : Math.ceil(resources.cpu);
  const memory = resources.memory ?? settings.memory;
  const minutes = time_limit === undefined
    ? settings.time_limit
    : Math.ceil(time_limit / 60) + SPARE_MIN;
  const gres = gresOf(resources.devices ?? {});
  return {
    name,
    comment: name,
    current_working_directory: folder,
    standard_output: "/dev/null",
    standard_error: "/dev/null",
    environment: { PATH },
    tasks: 1,
    ...(partition === undefined ? {} : { partition }),
    ...(account === undefined ? {} : { account }),
    ...(qos === undefined ? {} : { qos }),
    ...(minutes === undefined ? {} : { time_limit: minutes }),
    ...(cpus === undefined ? {} : { cpus_per_task: cpus }),
    ...(memory === undefined ? {} : { memory_per_node: Math.ceil(memory) }),
    ...(gres === "" ? {} : { gres }),
    ...extra,
  };
}

/** Returns devices as Slurm names them. Names that steps give to GPUs elsewhere are known. */
function gresOf(devices: Readonly<Record<string, number>>): string {
  return Object.entries(devices).map(([name, count]) =>
    `${/^(nvidia|nvidia\.com\/gpu|amd\.com\/gpu)$/.test(name) ? "gpu" : name}:${count}`
  ).join(",");
}
