/**
 * The metadata of jobs. What is held in memory is a cache: it is made again from the job's log.
 *
 * @module
 */
import type { Execution } from "../../store/records/executions.ts";
import type { Job } from "../../store/records/jobs.ts";
import { Metadata } from "../shared/metadata.ts";
import { takeMetadata } from "../shared/metadata_search.ts";
import { StopCondition } from "../shared/stop_condition.ts";
import type { RemoteContext } from "./context.ts";
import { recordsOf } from "./job_log.ts";

/** The metadata of one job. */
interface KnownMetadata {
  metadata: Metadata;
  condition: StopCondition;
  attempt: number;
  /** The length of stdout that it is of. */
  stdout: number;
  /** The number of changes that the execution's record has, and when it was stored. */
  saved: { changes: number; at_ms: number };
  /** The reasons for missing metadata that the log has. */
  logged: Set<string>;
}

/** Keeps the metadata of jobs. */
export class JobMetadata {
  readonly #context: RemoteContext;
  readonly #known = new Map<string, KnownMetadata>();

  constructor(context: RemoteContext) {
    this.#context = context;
  }

  /** Returns the metadata of all that is stored of a job's stdout. */
  async of(job: Job, execution: Execution): Promise<KnownMetadata> {
    const known = this.#known.get(job.id);
    if (known?.attempt === job.attempt && known.stdout === job.stored.stdout) return known;
    let metadata = new Metadata(execution.given_metadata);
    const logged = new Set<string>();
    for await (const record of recordsOf(this.#context.store, job)) {
      if ("line" in record) {
        if (record.line.isRestart) metadata = new Metadata(execution.given_metadata);
        logged.add(record.line.message);
      } else if ("head" in record && record.head.stream === "stdout") {
        await take(metadata, record.content, record.head.time);
      }
    }
    const made: KnownMetadata = {
      metadata,
      condition: new StopCondition(execution, metadata),
      attempt: job.attempt,
      stdout: job.stored.stdout,
      saved: { changes: 0, at_ms: this.#context.clock.steady() },
      logged,
    };
    this.#known.set(job.id, made);
    return made;
  }

  /** Takes in what was stored of stdout since. */
  async take(
    known: KnownMetadata,
    { content, stdout, time }: { content: readonly Uint8Array[]; stdout: number; time: string },
  ): Promise<void> {
    for (const part of content) await take(known.metadata, part, time);
    known.stdout = stdout;
  }

  /** Forgets a job. */
  forget(executionId: string): void {
    this.#known.delete(executionId);
  }
}

async function take(metadata: Metadata, content: Uint8Array, time: string): Promise<void> {
  await takeMetadata(metadata, { content, time }, () => Promise.resolve());
}
