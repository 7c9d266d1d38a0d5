/**
 * The surroundings of a remote engine's parts.
 *
 * @module
 */
import type { ArtifactStore } from "../../artifacts/store.ts";
import type { Clock } from "../../platform/clock.ts";
import { InTurn } from "../../platform/waiting/in_turn.ts";
import type { Write } from "../../store/commit/change.ts";
import { type Execution, executionWrites } from "../../store/records/executions.ts";
import { executionEndWrites } from "../../store/records/notices.ts";
import { isJobOver, type Job, jobWrite } from "../../store/records/jobs.ts";
import type { Store } from "../../store/store.ts";
import type { LogWatchers } from "../shared/log_watchers.ts";
import type { SecretsOfSteps } from "../engine.ts";
import type { JobRef } from "./backend.ts";
import { JobMaskers } from "./job_maskers.ts";
import { Uploads } from "./uploads.ts";

/** Limits and intervals of a remote engine. */
export interface RemoteSettings {
  /** The most jobs that the cluster has at once. The other executions wait in the database. */
  executionsMax: number;
  /** The size limit of a log, and of each stream that goes into it. */
  logBytesMax: number;
  /** The most outputs that a record lists. */
  outputsMax: number;
  /** The time between SIGTERM and SIGKILL. */
  grace_ms: number;
  /** The interval of looking at records. */
  tick_ms: number;
  /** The interval of looking at the cluster. */
  look_ms: number;
  /** The time limit of a request to the cluster. */
  request_ms: number;
  /** The time after which a job that the cluster does not show counts as not launched. */
  settle_ms: number;
  /** The time after which an agent that says nothing counts as silent. */
  silence_ms: number;
  /** The time that the record of a closed job is kept, for an agent that repeats its last request. */
  keep_ms: number;
}

/** The settings of a remote engine that says nothing else. */
export const REMOTE_SETTINGS: RemoteSettings = {
  executionsMax: 1_000,
  logBytesMax: 64 * 1024 * 1024,
  outputsMax: 1_000,
  grace_ms: 10_000,
  tick_ms: 1_000,
  look_ms: 2_000,
  request_ms: 30_000,
  settle_ms: 10_000,
  silence_ms: 60_000,
  keep_ms: 10 * 60_000,
};

/** The options of a context. */
interface ContextOptions {
  /** The type of the engine. */
  type: string;
  store: Store;
  artifacts: ArtifactStore;
  clock: Clock;
  settings: RemoteSettings;
  watchers: LogWatchers;
  onChange?: ((execution: Execution) => void) | undefined;
  secrets?: SecretsOfSteps | undefined;
}

/** A change of an execution, of its job, or of both together. */
interface RecordChange {
  execution?: Execution;
  job?: Job;
  writes?: readonly Write[];
}

/** The parts that a remote engine's files share. */
export class RemoteContext {
  readonly type: string;
  readonly store: Store;
  readonly artifacts: ArtifactStore;
  readonly clock: Clock;
  readonly settings: RemoteSettings;
  readonly turns = new InTurn();
  readonly uploads = new Uploads();
  readonly maskers: JobMaskers;
  readonly watchers: LogWatchers;
  readonly #onChange: ((execution: Execution) => void) | undefined;
  /** When each agent was last heard, by the steady clock. */
  readonly #heard_ms = new Map<string, number>();
  /** When times in each execution's records were, by the steady clock. */
  readonly #times_ms = new Map<string, Map<string, number>>();
  #lastHeard_ms = 0;
  readonly #began_ms: number;

  constructor(
    { type, store, artifacts, clock, settings, watchers, onChange, secrets }: ContextOptions,
  ) {
    this.maskers = new JobMaskers(store, secrets);
    this.watchers = watchers;
    this.type = type;
    this.store = store;
    this.artifacts = artifacts;
    this.clock = clock;
    this.settings = settings;
    this.#onChange = onChange;
    this.#began_ms = clock.steady();
  }

  /** The time as records have it. */
  get time(): string {
    return new Date(this.clock.now()).toISOString();
  }

  /** Stores a change in one commit. */
  async save({ execution, job, writes = [] }: RecordChange): Promise<void> {
    await this.store.committer.write([
      ...writes,
      ...execution === undefined ? [] : executionWrites(execution),
      ...execution === undefined ? [] : executionEndWrites(this.store, execution),
      ...job === undefined ? [] : [jobWrite(job)],
    ]);
    if (job !== undefined && (isJobOver(job) || job.claim === undefined)) this.uploads.end(job.id);
    if (execution !== undefined) this.#onChange?.(execution);
    if (job?.state === "closed") this.maskers.forget(job.id);
    const id = execution?.id ?? job?.id;
    if (id !== undefined) this.watchers.call(id);
  }

  /** Notes that an agent was heard. */
  hear(executionId: string): void {
    this.#lastHeard_ms = this.clock.steady();
    this.#heard_ms.set(executionId, this.#lastHeard_ms);
  }

  /**
   * Returns for how long an agent has said nothing, in milliseconds. It counts from the start of this service:
   * nobody could hear it before.
   */
  silence_ms(executionId: string): number {
    return this.clock.steady() - (this.#heard_ms.get(executionId) ?? this.#began_ms);
  }

  /** The time when any agent was last heard, by the steady clock; 0 before the first is. */
  get lastHeard_ms(): number {
    return this.#lastHeard_ms;
  }

  /**
   * Returns how long ago a time in an execution's records was, in milliseconds. That the wall clock is set changes
   * nothing once it was asked for.
   */
  age_ms(executionId: string, time: string): number {
    const now_ms = this.clock.steady();
    const times_ms = this.#times_ms.getOrInsertComputed(executionId, () => new Map());
    const passed_ms = Math.max(0, this.clock.now() - Date.parse(time));
    return now_ms - times_ms.getOrInsert(time, now_ms - passed_ms);
  }

  /** Forgets when an agent was heard, and times of its execution. */
  unhear(executionId: string): void {
    this.#heard_ms.delete(executionId);
    this.#times_ms.delete(executionId);
  }
}

/** Returns the name by which the cluster knows a job. */
export function jobRef({ attempt, ref }: Job, execution: Execution): JobRef {
  const name = attempt === 0 ? execution.id : `${execution.id}-${attempt}`;
  return { name, execution, ...(ref === undefined ? {} : { id: ref }) };
}
