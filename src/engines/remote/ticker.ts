/**
 * Ticks: each looks at the records of one engine's executions and jobs, and does the next step for each.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../platform/errors.ts";
import { InTurn } from "../../platform/waiting/in_turn.ts";
import { type Execution, getExecution, hasEnded } from "../../store/records/executions.ts";
import { getJob, type Job, listJobs, removeJob, removeJobLog } from "../../store/records/jobs.ts";
import type { EngineSettings } from "../../store/records/projects.ts";
import type { EngineLoad, Outage } from "../engine.ts";
import { failure, writeEnd } from "../shared/execution_end.ts";
import { openExecutionsOf } from "../shared/open_executions.ts";
import type { Backend, Seen } from "./backend.ts";
import { Cluster, type ClusterParts, type Pair } from "./cluster.ts";
import { decidedEnding, decideEnding, endAsReported, isUnexplained } from "./ends.ts";
import type { JobFiles } from "./job_files.ts";
import { archiveLog } from "./job_log.ts";
import { Troubles } from "./troubles.ts";

/** Agents keep the time limit themselves. This is the time after which the service does. */
const TIME_LIMIT_SLACK_MS = 15_000;
/** Logs that go to the artifact store at once: one that is away has them wait in memory. */
const ARCHIVES_AT_ONCE = 4;
const NO_JOB = "Its job is unknown: its data came from a backup or was damaged";

const log = getLogger(["hooklaunch", "engine"]);

/** The parts of a ticker. */
interface TickerParts extends Omit<ClusterParts, "backend"> {
  files: JobFiles;
  backendOf(settings: EngineSettings): Backend;
}

/** Advances the executions of one engine. */
export class Ticker {
  readonly #parts: TickerParts;
  /** The clusters, by the settings of the projects that name them. */
  readonly #clusters = new Map<string, Cluster>();
  readonly #work = new Set<Promise<void>>();
  /** The parts of ended jobs whose clean-up is under way. */
  readonly #tidying = new Set<string>();
  /** Ended jobs of which the cluster is asked why they ended. */
  readonly #explaining = new Set<string>();
  readonly #untidy = new Troubles();
  /** When a clean-up that has failed is tried again, by the steady clock. */
  readonly #tidyAgain_ms = new Map<string, number>();
  readonly #archives = new InTurn();
  #archiveCount = 0;
  readonly #endless = new Troubles();
  #load: EngineLoad = { running: 0, waiting: 0 };
  /** The clusters with executions, and the projects of these, as the last tick saw them. */
  #inUse: ReadonlyMap<Cluster, readonly string[]> = new Map();

  constructor(parts: TickerParts) {
    this.#parts = parts;
  }

  /** The load, as the last tick saw it. */
  get load(): EngineLoad {
    return this.#load;
  }

  /** The clusters that do not answer. One that is not asked any more is not among them. */
  get outages(): Outage[] {
    return Array.from(this.#inUse).flatMap(([{ outage }, projects]) =>
      outage === undefined ? [] : [{ ...outage, projects }]
    );
  }

  /** Returns the number of executions whose agents have them. */
  async running(): Promise<number> {
    const { store, type } = this.#parts.context;
    const open = await Array.fromAsync(openExecutionsOf(store, type, ["started", "stopping"]));
    return open.length;
  }

  /** Waits for what ticks have begun, and closes the connections to clusters. */
  async close(): Promise<void> {
    await Promise.all(this.#work);
    for (const cluster of this.#clusters.values()) cluster.close();
  }

  /** Does the next step for each execution. What clusters are asked goes on after it. */
  async tick(): Promise<void> {
    const { store, type } = this.#parts.context;
    const statuses = ["queued", "started", "stopping"] as const;
    const executions = await Array.fromAsync(openExecutionsOf(store, type, statuses));
    // After the executions: each that has begun has a job.
    const jobs = new Map((await listJobs(store, type)).map((job) => [job.id, job]));
    this.#count(executions);
    for (const job of jobs.values()) {
      if (job.end !== undefined && job.state !== "closed") await this.#endSoon(job);
      if (job.state !== "closed") continue;
      if (!job.is_archived) this.#begin(this.#tidy(job, "log"));
      if (this.#isToTidy(job)) this.#begin(this.#tidy(job, "cluster"));
    }
    await this.#plan(executions, jobs);
    const pairs = executions.flatMap((execution): Pair[] => {
      const job = jobs.get(execution.id);
      return job === undefined || job.state === "closed" ? [] : [{ execution, job }];
    });
    for (const pair of pairs) await this.#keepTimeLimit(pair);
    const byCluster = Map.groupBy(pairs, ({ execution }) => this.#clusterOf(execution));
    this.#inUse = new Map(Array.from(byCluster, ([cluster, its]) => [cluster, projectsOf(its)]));
    for (const [cluster, its] of byCluster) this.#begin(cluster.advance(its));
  }

  /** Returns true when there is something to do for a closed job, beside its log. */
  #isToTidy({ end, is_archived, is_cancelled, is_removed, closed_at = "" }: Job): boolean {
    const { clock, settings: { keep_ms, settle_ms } } = this.#parts.context;
    const age_ms = clock.now() - Date.parse(closed_at);
    const isDue = end === undefined && !is_cancelled || !(age_ms < settle_ms);
    return !is_removed && isDue || is_archived === true && !(age_ms < keep_ms);
  }

  #count(executions: readonly Execution[]): void {
    const waiting = executions.filter(({ status }) => status === "queued").length;
    this.#load = { running: executions.length - waiting, waiting };
  }

  #begin(work: Promise<void>): void {
    const over = work.finally(() => this.#work.delete(over));
    this.#work.add(over);
  }

  #clusterOf({ engine }: Execution): Cluster {
    const key = JSON.stringify(engine);
    const known = this.#clusters.get(key);
    if (known !== undefined) return known;
    const made = new Cluster({ ...this.#parts, backend: this.#parts.backendOf(engine) });
    this.#clusters.set(key, made);
    return made;
  }

  /** Makes jobs of the oldest executions that wait, as many as there is room for. */
  async #plan(executions: readonly Execution[], jobs: Map<string, Job>): Promise<void> {
    const { context, signal } = this.#parts;
    let room = context.settings.executionsMax -
      executions.filter(({ id }) => jobs.has(id)).length;
    for (const { id, status } of executions) {
      if (signal.aborted) return;
      if (jobs.has(id) || status === "queued" && room <= 0) continue;
      if (status === "queued") room--;
      const job = await this.#planOne(id);
      if (job !== undefined) jobs.set(id, job);
    }
  }

  #planOne(executionId: string): Promise<Job | undefined> {
    const { context } = this.#parts;
    return context.turns.run(executionId, async () => {
      const execution = await getExecution(context.store, executionId);
      if (execution === undefined || hasEnded(execution.status)) return undefined;
      if (await getJob(context.store, executionId)) return undefined;
      if (execution.status !== "queued") {
        const ending = decidedEnding(execution) ?? failure(NO_JOB);
        writeEnd(execution, { ending, at_ms: context.clock.now() });
        await context.save({ execution });
        return undefined;
      }
      const job: Job = {
        id: executionId,
        engine: context.type,
        attempt: 0,
        state: "planned",
        submissions: 0,
        tokens: [],
        stored: { stdout: 0, stderr: 0 },
        in_long_line: [],
        log_bytes: 0,
      };
      await context.save({ job });
      return job;
    });
  }

  /** Ends an execution whose agent has reported its end, after its cluster was asked where only it knows why. */
  async #endSoon({ id }: Job): Promise<void> {
    const { store } = this.#parts.context;
    const [execution, job] = await Promise.all([getExecution(store, id), getJob(store, id)]);
    if (execution === undefined || job === undefined) return;
    if (!isUnexplained(execution, job)) return await this.#endAsReported(id);
    if (this.#explaining.has(id)) return;
    this.#explaining.add(id);
    const explain = () => this.#clusterOf(execution).explain({ execution, job });
    this.#begin(this.#endAsReported(id, explain).finally(() => this.#explaining.delete(id)));
  }

  /** @param explain asks the cluster: while that fails, nothing is concluded */
  async #endAsReported(
    executionId: string,
    explain?: () => Promise<Seen | undefined>,
  ): Promise<void> {
    const { context: { turns, store }, signal } = this.#parts;
    const end = async (seen: Seen | undefined) => {
      const [execution, job] = await Promise.all([
        getExecution(store, executionId),
        getJob(store, executionId),
      ]);
      if (execution && job && job.state !== "closed") {
        await endAsReported(execution, job, this.#parts, seen);
      }
    };
    try {
      const seen = await explain?.();
      await turns.run(executionId, () => end(seen));
      this.#endless.end(executionId);
    } catch (error) {
      if (signal.aborted || !this.#endless.begin(executionId, messageOf(error))) return;
      log.warn("Cannot end execution {execution_id}, trying again: {error}", {
        execution_id: executionId,
        error: messageOf(error),
      });
    }
  }

  /** Stops a job whose agent does not keep the time limit, such as one that cannot be heard. */
  async #keepTimeLimit({ execution: { id, time_limit, started_at }, job }: Pair): Promise<void> {
    const { context } = this.#parts;
    if (time_limit === undefined || started_at === undefined || job.stop_at !== undefined) return;
    const limit_ms = time_limit * 1_000 + TIME_LIMIT_SLACK_MS;
    if (context.age_ms(id, started_at) < limit_ms) return;
    await context.turns.run(id, async () => {
      const execution = await getExecution(context.store, id);
      const job = await getJob(context.store, id);
      if (execution === undefined || job?.claim === undefined || job.end !== undefined) return;
      if (hasEnded(execution.status) || decidedEnding(execution) !== undefined) return;
      decideEnding(execution, failure(`Stopped: time limit of ${time_limit} s reached`));
      job.stop_at = context.time;
      await context.save({ execution, job });
    });
  }

  /**
   * Does a part of what is left of an ended job: its log and its files, or what its cluster has of it. While the
   * artifact store or the cluster is away, the other is asked all the same.
   */
  async #tidy({ id }: Job, part: "log" | "cluster"): Promise<void> {
    const { context: { clock, turns, settings: { settle_ms } }, signal } = this.#parts;
    const name = `${part} ${id}`;
    const isTooSoon = clock.steady() < (this.#tidyAgain_ms.get(name) ?? 0);
    if (this.#tidying.has(name) || isTooSoon || signal.aborted) return;
    this.#tidying.add(name);
    try {
      if (part === "cluster") await turns.run(id, () => this.#tidyInTurn(id));
      else {
        const place = String(this.#archiveCount++ % ARCHIVES_AT_ONCE);
        await this.#archives.run(place, () => turns.run(id, () => this.#archive(id)));
      }
      this.#untidy.end(name);
      this.#tidyAgain_ms.delete(name);
    } catch (error) {
      this.#tidyAgain_ms.set(name, clock.steady() + settle_ms);
      if (signal.aborted || !this.#untidy.begin(name, messageOf(error))) return;
      log.warn("Cannot clean up the job of execution {execution_id}, trying again: {error}", {
        execution_id: id,
        error: messageOf(error),
      });
    } finally {
      this.#tidying.delete(name);
    }
  }

  async #archive(id: string): Promise<void> {
    const { context, files, signal } = this.#parts;
    if (signal.aborted) return;
    const job = await getJob(context.store, id);
    if (job?.state !== "closed" || job.is_archived) return;
    await archiveLog(job, context);
    job.is_archived = true;
    await context.save({ job });
    await removeJobLog(context.store, id);
    await files.remove(id);
    context.unhear(id);
  }

  async #tidyInTurn(id: string): Promise<void> {
    const { context } = this.#parts;
    const { store, clock, settings: { keep_ms, settle_ms } } = context;
    const [execution, job] = await Promise.all([getExecution(store, id), getJob(store, id)]);
    if (job?.state !== "closed") return;
    const age_ms = clock.now() - Date.parse(job.closed_at ?? "");
    const cluster = execution && this.#clusterOf(execution);
    if (execution && job.end === undefined && !job.is_cancelled) {
      await cluster?.cancel({ execution, job });
      job.is_cancelled = true;
      await context.save({ job });
    }
    // It was stopped meanwhile. The job that its launch makes is removed then.
    if (cluster?.launching.has(id)) return;
    // A job that has reported its end has a moment to end.
    if (!job.is_removed && !(age_ms < settle_ms)) {
      if (execution) await cluster?.remove({ execution, job });
      job.is_removed = true;
      await context.save({ job });
    }
    if (job.is_archived && !(age_ms < keep_ms)) await removeJob(store, id);
  }
}

function projectsOf(pairs: readonly Pair[]): string[] {
  return [...new Set(pairs.map(({ execution: { project } }) => project))].sort();
}
