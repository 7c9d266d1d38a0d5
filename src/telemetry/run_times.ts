/**
 * The times of runs: from acceptance to the start of what they launch, and to the end of their work.
 *
 * @module
 */
import { idTime } from "../platform/ids.ts";
import { type Execution, hasEnded } from "../store/records/executions.ts";
import type { CreatedObject, Run } from "../store/records/runs.ts";

/** The runs whose work is awaited; the oldest one goes first. Its end is not observed. */
const AWAITED_MAX = 50_000;

/** An object that a run has launched. All times are RFC 3339. */
export interface LaunchedObject {
  id: string;
  run_id: string;
  created_at: string;
  ended_at?: string;
  traceparent?: string;
}

/** A run whose work is under way. */
interface Awaited {
  run: Run;
  /** The ids of the objects that have not ended. */
  left: Set<string>;
  /** The latest end, RFC 3339 in UTC. */
  ended_at: string;
  traceparent: string | undefined;
}

/** Observes a time of a trigger, in seconds. */
type Observe = (triggerId: string, seconds: number, traceparent?: string) => void;

/** Reads of what is stored. */
export interface RunReads {
  /** Reads a run; undefined when there is none. */
  run(id: string): Promise<Run | undefined>;
  /** Returns the objects that a run has launched, without those that were removed. */
  launchedBy(run: Run): Promise<LaunchedObject[]>;
}

/** Finds the times of runs from the ends that are told, which are on disk. */
export class RunTimes {
  readonly #onStart: Observe;
  readonly #onEnd: Observe;
  readonly #reads: () => RunReads | undefined;
  /** Executions that have started, as long as they run. */
  readonly #started = new Set<string>();
  readonly #awaited = new Map<string, Awaited>();
  /** Runs of an earlier process that were looked up. */
  readonly #lookedUp = new Set<string>();
  readonly #since_ms: number;

  /** @param since_ms the start of the process: earlier starts were observed by another one */
  constructor(
    { onStart, onEnd, reads, since_ms }: {
      onStart: Observe;
      onEnd: Observe;
      reads: () => RunReads | undefined;
      since_ms: number;
    },
  ) {
    this.#onStart = onStart;
    this.#onEnd = onEnd;
    this.#reads = reads;
    this.#since_ms = since_ms;
  }

  /** Tells of a change of an execution. Nodes of pipelines wait for each other, so their starts say nothing. */
  execution(execution: Execution): void {
    const { id, run_id, status, started_at, pipeline_id, trigger_id, traceparent } = execution;
    if (started_at !== undefined && pipeline_id === undefined && !this.#started.has(id)) {
      const started_ms = Date.parse(started_at);
      const seconds = Math.max(0, started_ms - idTime(run_id)) / 1_000;
      if (started_ms >= this.#since_ms) this.#onStart(trigger_id, seconds, traceparent);
      this.#started.add(id);
    }
    if (!hasEnded(status)) return;
    this.#started.delete(id);
    this.objectEnded(execution);
  }

  /** Tells that a run has ended. */
  runEnded(run: Run): void {
    const left = new Set(run.actions.flatMap(({ created }) => created ? [idOf(created)] : []));
    const { id, trigger_id, created_at, ended_at = created_at } = run;
    if (left.size === 0) {
      return this.#onEnd(trigger_id, secondsBetween(created_at, ended_at));
    }
    this.#awaited.set(id, { run, left, ended_at, traceparent: undefined });
    const oldest = this.#awaited.keys().next().value;
    if (this.#awaited.size > AWAITED_MAX && oldest !== undefined) this.#awaited.delete(oldest);
    void this.#lookAt(run);
  }

  /** Tells that something that a run has launched has ended. */
  objectEnded(object: LaunchedObject): void {
    const { id, run_id, created_at, ended_at = created_at, traceparent } = object;
    const awaited = this.#awaited.get(run_id);
    if (awaited === undefined) {
      // This process awaits the work that it has made, or finds it at the end of the run.
      if (Date.parse(created_at) < this.#since_ms) void this.#lookUp(run_id);
      return;
    }
    if (!awaited.left.delete(id)) return;
    if (ended_at > awaited.ended_at) awaited.ended_at = ended_at;
    awaited.traceparent ??= traceparent;
    if (awaited.left.size > 0) return;
    this.#awaited.delete(run_id);
    const { run } = awaited;
    const seconds = secondsBetween(run.created_at, awaited.ended_at);
    this.#onEnd(run.trigger_id, seconds, awaited.traceparent);
  }

  /** Finds what had ended before its run was awaited. */
  async #lookAt(run: Run): Promise<void> {
    const launched = await this.#reads()?.launchedBy(run).catch(onClosed);
    if (launched === undefined) return;
    const there = new Map(launched.map((object) => [object.id, object]));
    for (const id of this.#awaited.get(run.id)?.left ?? []) {
      const object = there.get(id) ?? { id, run_id: run.id, created_at: run.created_at };
      if (!there.has(id) || object.ended_at !== undefined) this.objectEnded(object);
    }
  }

  /** Begins to await a run that has ended in an earlier process. */
  async #lookUp(runId: string): Promise<void> {
    if (this.#lookedUp.has(runId)) return;
    this.#lookedUp.add(runId);
    const run = await this.#reads()?.run(runId).catch(onClosed);
    if (run?.ended_at === undefined || Date.parse(run.ended_at) >= this.#since_ms) return;
    this.runEnded(run);
  }
}

/** Returns the seconds between two times, 0 where the clock was set back. */
export function secondsBetween(start: string, end: string): number {
  return Math.max(0, Date.parse(end) - Date.parse(start)) / 1_000;
}

function idOf(created: CreatedObject): string {
  if ("execution_id" in created) return created.execution_id;
  return "pipeline_id" in created ? created.pipeline_id : created.http_request_id;
}

/** The database is closed where the service ends meanwhile: then nobody asks for the metrics any more. */
function onClosed(): undefined {}
