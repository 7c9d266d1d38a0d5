/**
 * Kubernetes, as a back end of the remote engine: a job is a Job with one pod.
 *
 * @module
 */
import { messageOf } from "../../platform/errors.ts";
import type { EngineSettings } from "../../store/records/projects.ts";
import {
  type Backend,
  type JobRef,
  type JobSpec,
  type Launched,
  LaunchLaterError,
  LaunchRefusedError,
  type Seen,
} from "../remote/backend.ts";
import { ApiClient, KubernetesError } from "./api_client.ts";
import { jobObject, secretObject, SELECTOR } from "./job_object.ts";
import { type Job, type Pod, podsByJob, seenOfJob, seenOfPod } from "./job_states.ts";
import type { JsonObject } from "./pod_template.ts";
import type { KubernetesSettings } from "./settings.ts";

/** Answers to objects that no later request makes right. */
const REFUSALS: readonly unknown[] = [400, 413, 422];
/**
 * Answers of a server that has created nothing, and may create it later. 409 is one where another request changes a
 * quota of the namespace at the same moment, and 500 such as that an admission webhook is away.
 */
const LATER: readonly unknown[] = [401, 403, 404, 409, 429, 500];
const NOT_FOUND = 404;
/** The reason of an answer to an object of whose name there is one. */
const EXISTS = "AlreadyExists";

/** Runs jobs on a Kubernetes cluster. */
export class KubernetesBackend implements Backend {
  readonly #settings: KubernetesSettings;
  readonly #api: ApiClient;

  /** @param settings as the schema of this engine accepts them */
  constructor(settings: EngineSettings) {
    // The schema checked them when the project was stored.
    this.#settings = settings as unknown as KubernetesSettings;
    this.#api = new ApiClient(this.#settings);
  }

  async launch(spec: JobSpec, signal: AbortSignal): Promise<Launched> {
    // The Job's name is the execution's: one that is there stands for this one. With an earlier Secret it has an
    // earlier token.
    const secrets = this.#pathOf("v1", "secrets");
    const jobs = this.#pathOf("batch/v1", "jobs");
    const hasSecret = await this.#create(secrets, secretObject(spec), signal);
    try {
      const hasJob = await this.#create(jobs, jobObject(spec, this.#settings), signal);
      return { isNew: hasSecret && hasJob };
    } catch (error) {
      // Of many launches the service remembers the last tokens alone: the next one makes a Secret with its own.
      const isLeft = hasSecret && error instanceof LaunchLaterError;
      if (isLeft) await this.#delete(`${secrets}/${spec.name}`, signal).catch(() => {});
      throw error;
    }
  }

  async look(jobs: readonly JobRef[], signal: AbortSignal): Promise<ReadonlyMap<string, Seen>> {
    const pods = await this.#list<Pod>("v1", "pods", signal);
    const seen = new Map<string, Seen>();
    const names = new Set(jobs.map(({ name }) => name));
    for (const [name, pod] of podsByJob(pods)) {
      if (names.has(name)) seen.set(name, seenOfPod(pod));
    }
    if (seen.size === names.size) return seen;
    const objects = await this.#list<Job>("batch/v1", "jobs", signal);
    const byName = new Map(objects.map((job) => [job.metadata.name, job]));
    for (const name of names) {
      if (seen.has(name)) continue;
      const job = byName.get(name);
      seen.set(name, job === undefined ? { kind: "absent" } : seenOfJob(job, this.#settings.queue));
    }
    return seen;
  }

  async cancel({ name }: JobRef, signal: AbortSignal): Promise<void> {
    await this.#delete(`${this.#pathOf("batch/v1", "jobs")}/${name}`, signal);
  }

  async remove(job: JobRef, signal: AbortSignal): Promise<void> {
    await this.cancel(job, signal);
    await this.#delete(`${this.#pathOf("v1", "secrets")}/${job.name}`, signal);
  }

  close(): void {
    this.#api.close();
  }

  #pathOf(version: string, kind: string): string {
    const group = version === "v1" ? "/api/v1" : `/apis/${version}`;
    return `${group}/namespaces/${this.#settings.namespace}/${kind}`;
  }

  /** Creates an object. Returns false when one of its name is there already. */
  async #create(path: string, body: JsonObject, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#api.send("POST", { path, body, signal });
      return true;
    } catch (error) {
      const { status, reason } = error instanceof KubernetesError ? error : {};
      if (reason === EXISTS) return false;
      if (REFUSALS.includes(status)) {
        throw new LaunchRefusedError(messageOf(error), { cause: error });
      }
      if (LATER.includes(status)) throw new LaunchLaterError(messageOf(error), { cause: error });
      throw error;
    }
  }

  async #list<T>(version: string, kind: string, signal: AbortSignal): Promise<T[]> {
    const path = this.#pathOf(version, kind);
    // Kubernetes gives its objects this form.
    return await this.#api.list(path, { labelSelector: SELECTOR }, signal) as T[];
  }

  /** Deletes an object with what belongs to it, if it is there. */
  async #delete(path: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#api.send("DELETE", { path, query: { propagationPolicy: "Background" }, signal });
    } catch (error) {
      if (!(error instanceof KubernetesError && error.status === NOT_FOUND)) throw error;
    }
  }
}
