/**
 * The masks of the secrets of jobs, made with the first output of each job.
 *
 * @module
 */
import { getExecution } from "../../store/records/executions.ts";
import type { Job } from "../../store/records/jobs.ts";
import type { Store } from "../../store/store.ts";
import type { SecretsOfSteps } from "../engine.ts";
import type { SecretMasker } from "../shared/secret_masker.ts";
import { maskerOf } from "../shared/step_secrets.ts";

/** Keeps the maskers of jobs. */
export class JobMaskers {
  readonly #store: Store;
  readonly #secrets: SecretsOfSteps | undefined;
  readonly #known = new Map<string, { attempt: number; masker: SecretMasker | undefined }>();

  constructor(store: Store, secrets: SecretsOfSteps | undefined) {
    this.#store = store;
    this.#secrets = secrets;
  }

  /** Returns what masks the secrets that a job has; undefined where it has none. */
  async of({ id, attempt }: Pick<Job, "id" | "attempt">): Promise<SecretMasker | undefined> {
    const known = this.#known.get(id);
    if (known?.attempt === attempt) return known.masker;
    const execution = await getExecution(this.#store, id);
    const masker = execution && await maskerOf(execution, this.#secrets);
    this.#known.set(id, { attempt, masker });
    return masker;
  }

  /** Forgets a job. */
  forget(executionId: string): void {
    this.#known.delete(executionId);
  }
}
