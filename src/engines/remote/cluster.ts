/**
 * One cluster, as the engine drives it: what it is asked, and what its answers change.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { delay } from "@std/async/delay";
import { messageOf } from "../../platform/errors.ts";
import { type Execution, getExecution, hasEnded } from "../../store/records/executions.ts";
import { getJob, hashOfToken, type Job } from "../../store/records/jobs.ts";
import type { Outage } from "../engine.ts";
import { failure } from "../shared/execution_end.ts";
import {
  type Backend,
  type Launched,
  LaunchLaterError,
  LaunchRefusedError,
  type Seen,
} from "./backend.ts";
import { jobRef } from "./context.ts";
import { decidedEnding, end, type EndParts, lose } from "./ends.ts";

/** Jobs that are launched at once. */
const LAUNCHES_AT_ONCE = 8;
/** The most submissions of a job that the cluster loses before it has started. */
const SUBMISSIONS_MAX = 5;
/** Tokens of earlier submissions that are still good for a claim. */
const TOKENS_MAX = 8;
const WAITING_LENGTH_MAX = 500;
/** Looks at a job whose agent was told to end, until the cluster says why, and the pause between two. */
const EXPLAIN_LOOKS = 5;
const EXPLAIN_MS = 1_000;
/** The time that a stopped job has beside its grace period. Then the cluster is asked to end it. */
const STOP_MS = 30_000;

const log = getLogger(["hooklaunch", "engine"]);

/** The parts of a cluster. */
export interface ClusterParts extends EndParts {
  backend: Backend;
  /** Returns the script of a job. */
  script(executionId: string, token: string): string;
  signal: AbortSignal;
}

/** An execution and its job. */
export interface Pair {
  execution: Execution;
  job: Job;
}

/** Drives the jobs of one cluster. */
export class Cluster {
  /** The executions whose jobs are being launched. The cluster may make such a job after it was told to remove it. */
  readonly launching = new Set<string>();
  readonly #parts: ClusterParts;
  /** When each job was first found to be gone, by the steady clock. */
  readonly #gone_ms = new Map<string, number>();
  #looked_ms = -Infinity;
  #isBusy = false;
  #outage: Omit<Outage, "projects"> | undefined;

  constructor(parts: ClusterParts) {
    this.#parts = parts;
  }

  /** True while it works. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** The time and the reason since which it does not answer; undefined while it does. */
  get outage(): Omit<Outage, "projects"> | undefined {
    return this.#outage;
  }

  /** Looks at jobs when it is time, and launches those that are planned. Never rejects. */
  async advance(pairs: readonly Pair[]): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      const isDue = this.#steady_ms - this.#looked_ms >= this.#parts.context.settings.look_ms;
      const known = pairs.filter(({ job }) => job.state !== "planned");
      if (isDue && known.length > 0) await this.#look(known);
      await this.#launchAll(pairs.filter(({ job }) => this.#isToLaunch(job)));
    } catch (error) {
      if (this.#parts.signal.aborted) return;
      log.error("Cannot advance the jobs of {engine}, trying again: {error}", {
        engine: this.#parts.context.type,
        error: messageOf(error),
      });
    } finally {
      this.#isBusy = false;
    }
  }

  /** Closes the connections to the cluster. */
  close(): void {
    this.#parts.backend.close?.();
  }

  /** Asks the cluster to end a job. */
  async cancel({ execution, job }: Pair): Promise<void> {
    await this.#parts.backend.cancel(jobRef(job, execution), this.#timeLimit());
  }

  /** Returns what the cluster says of a job whose agent was told to end; undefined when it answers, and does not say. */
  async explain({ execution, job }: Pair): Promise<Seen | undefined> {
    const { backend, signal } = this.#parts;
    const ref = jobRef(job, execution);
    for (let look = 0; look < EXPLAIN_LOOKS; look++) {
      if (look > 0) await delay(EXPLAIN_MS, { signal });
      const seen = (await backend.look([ref], this.#timeLimit())).get(ref.name);
      if (seen?.kind === "ended" || seen?.kind === "running" && seen.detail) return seen;
    }
    return undefined;
  }

  /** Asks the cluster to remove what it keeps of a job. */
  async remove({ execution, job }: Pair): Promise<void> {
    await this.#parts.backend.remove(jobRef(job, execution), this.#timeLimit());
  }

  /** Returns true for a planned job, unless its cluster did not take it a moment ago. */
  #isToLaunch({ state, launch_error, submitted_at = "" }: Job): boolean {
    if (state !== "planned" || launch_error === undefined) return state === "planned";
    const { clock, settings: { settle_ms } } = this.#parts.context;
    const age_ms = clock.now() - Date.parse(submitted_at);
    return !(age_ms >= 0 && age_ms < settle_ms);
  }

  get #steady_ms(): number {
    return this.#parts.context.clock.steady();
  }

  /** A signal for one request to the cluster. */
  #timeLimit(): AbortSignal {
    const { signal, context: { settings: { request_ms } } } = this.#parts;
    return AbortSignal.any([signal, AbortSignal.timeout(request_ms)]);
  }

  async #look(pairs: readonly Pair[]): Promise<void> {
    const { backend, signal } = this.#parts;
    const refs = pairs.map(({ execution, job }) => jobRef(job, execution));
    let seen: ReadonlyMap<string, Seen>;
    try {
      seen = await backend.look(refs, this.#timeLimit());
    } catch (error) {
      if (signal.aborted) return;
      return await this.#unreachable(pairs, error);
    } finally {
      this.#looked_ms = this.#steady_ms;
    }
    if (this.#outage !== undefined) {
      log.info("The engine {engine} can be reached again", { engine: this.#parts.context.type });
    }
    this.#outage = undefined;
    for (const [index, pair] of pairs.entries()) {
      const found = seen.get(refs[index]?.name ?? "") ?? { kind: "unknown" };
      if (this.#isKnown(pair, found)) continue;
      await this.#turn(pair.job, (now) => this.#apply(now, found))
        .catch((error) => this.#logFailure(pair.job, error));
    }
  }

  /** Logs that one job could not be advanced. The others are. */
  #logFailure({ id: execution_id }: Job, error: unknown): void {
    if (this.#parts.signal.aborted) return;
    log.warn("Cannot advance execution {execution_id}, trying again: {error}", {
      execution_id,
      error: messageOf(error),
    });
  }

  /** Returns true for a state that the records say already: most jobs only run on. */
  #isKnown({ execution, job }: Pair, seen: Seen): boolean {
    const isAlive = seen.kind === "pending" || seen.kind === "running";
    return isAlive && job.state === "submitted" && job.stop_at === undefined &&
      !this.#gone_ms.has(job.id) && execution.reachable === undefined &&
      execution.waiting === waitingOf(job, seen);
  }

  /** Shows that a cluster cannot be reached. Nothing is concluded about its jobs. */
  async #unreachable(pairs: readonly Pair[], error: unknown): Promise<void> {
    const why = messageOf(error);
    if (this.#outage === undefined) {
      const { type: engine } = this.#parts.context;
      log.warn("Cannot reach the engine {engine}: {error}", { engine, error: why });
    }
    const { since = this.#parts.context.time } = this.#outage ?? {};
    this.#outage = { since, detail: cut(why) };
    for (const { job } of pairs) {
      await this.#turn(job, async ({ execution, job }) => {
        // A job that cannot be seen now has not been seen to be gone.
        this.#gone_ms.delete(job.id);
        const waiting = job.claim ? undefined : cut(`The engine cannot be reached: ${why}`);
        await this.#show(execution, { waiting, isReachable: false });
      });
    }
  }

  /** Works on a job as it is now, if its execution has not ended and it is still the same attempt. */
  async #turn({ id, attempt }: Job, work: (now: Pair) => Promise<void>): Promise<void> {
    const { turns, store } = this.#parts.context;
    await turns.run(id, async () => {
      const [execution, job] = await Promise.all([getExecution(store, id), getJob(store, id)]);
      if (execution === undefined || job?.attempt !== attempt || job.state === "closed") return;
      if (hasEnded(execution.status) || job.end !== undefined) return;
      await work({ execution, job });
    });
  }

  async #apply({ execution, job }: Pair, seen: Seen): Promise<void> {
    const { context } = this.#parts;
    if (seen.kind === "unknown" && seen.detail !== undefined) {
      return await this.#show(execution, { waiting: seen.detail, isReachable: false });
    }
    await this.#show(execution, { waiting: waitingOf(job, seen), isReachable: true });
    if (seen.kind === "pending" || seen.kind === "running") {
      this.#gone_ms.delete(job.id);
      if (job.state === "submitting") {
        job.state = "submitted";
        delete job.launch_error;
        await context.save({ job });
      }
    } else if (seen.kind === "absent" || seen.kind === "ended") {
      await this.#missing({ execution, job }, seen);
    }
    await this.#force({ execution, job });
  }

  /** Deals with a job that the cluster does not have, or says has ended, without a word of its agent. */
  async #missing(
    { execution, job }: Pair,
    seen: Extract<Seen, { kind: "absent" | "ended" }>,
  ): Promise<void> {
    const { context, backend } = this.#parts;
    const { settings: { silence_ms, settle_ms }, clock } = context;
    const since_ms = this.#gone_ms.getOrInsert(job.id, this.#steady_ms);
    if (job.claim === undefined && seen.kind === "absent") {
      // It may be about to appear.
      const age_ms = clock.now() - Date.parse(job.submitted_at ?? "");
      if (age_ms >= 0 && age_ms < settle_ms) return;
      return await this.#submitAgain(
        { execution, job },
        "The engine does not know the job any more",
      );
    }
    const gone_ms = this.#steady_ms - since_ms;
    const silent_ms = context.silence_ms(job.id);
    const isOver = seen.kind === "ended" && seen.isOver === true;
    // An agent that is not heard by a service that has just started may be trying to reach it.
    if (!isOver && Math.min(gone_ms, silent_ms) < (job.claim ? silence_ms : settle_ms)) return;
    this.#gone_ms.delete(job.id);
    const reason = reasonOf(seen, job);
    // An agent that has the claim ends after it has reported. So it was another one that ended by itself, such as
    // that of a job which the cluster has started twice.
    const isOther = seen.kind === "ended" && seen.isExit === true && job.claim !== undefined;
    const isLost = seen.kind === "absent" || seen.isLost === true || isOther;
    if (job.claim === undefined && (isLost || job.is_own === undefined)) {
      // Its name is free for another one then.
      if (seen.kind === "ended") await backend.remove(jobRef(job, execution), this.#timeLimit());
      return await this.#submitAgain({ execution, job }, reason);
    }
    await lose(execution, job, { reason, mayRunAgain: isLost }, this.#parts);
  }

  /** Plans a job again whose command has not begun. What was submitted before may still come, and claim it. */
  async #submitAgain({ execution, job }: Pair, reason: string): Promise<void> {
    this.#gone_ms.delete(job.id);
    if (job.submissions < SUBMISSIONS_MAX) {
      job.state = "planned";
      return await this.#parts.context.save({ job });
    }
    const why = job.launch_error ?? reason;
    const ending = decidedEnding(execution) ??
      failure(`Cannot run: it was submitted ${job.submissions} times and did not start: ${why}`);
    await end(execution, job, { ending, at_ms: this.#parts.context.clock.now() }, this.#parts);
  }

  /** Has the cluster end a job whose agent does not do so. */
  async #force({ execution, job }: Pair): Promise<void> {
    const { context, backend } = this.#parts;
    if (job.stop_at === undefined) return;
    if (context.age_ms(job.id, job.stop_at) < context.settings.grace_ms + STOP_MS) return;
    await backend.cancel(jobRef(job, execution), this.#timeLimit());
  }

  /** Stores what an execution shows of its engine, when that has changed. */
  async #show(
    execution: Execution,
    { waiting, isReachable }: { waiting: string | undefined; isReachable: boolean },
  ): Promise<void> {
    if (execution.waiting === waiting && (execution.reachable !== false) === isReachable) return;
    if (waiting === undefined) delete execution.waiting;
    else execution.waiting = waiting;
    if (isReachable) delete execution.reachable;
    else execution.reachable = false;
    await this.#parts.context.save({ execution });
  }

  async #launchAll(pairs: readonly Pair[]): Promise<void> {
    const left = pairs.values();
    const launchNext = async () => {
      for (const { job } of left) {
        this.launching.add(job.id);
        const isTold = await this.#launch(job).catch((error) => this.#logFailure(job, error));
        this.launching.delete(job.id);
        if (!isTold) return;
      }
    };
    await Promise.all(Array.from({ length: LAUNCHES_AT_ONCE }, launchNext));
  }

  /** Launches a job. A cluster that has not answered is looked at before the others are launched: false then. */
  async #launch(planned: Job): Promise<boolean> {
    const { backend, script, signal } = this.#parts;
    let pair: Pair | undefined;
    const token = newToken();
    // Before the cluster is asked: what becomes of the request is not known if this process is killed.
    await this.#turn(planned, async ({ execution, job }) => {
      if (job.state !== "planned" || signal.aborted) return;
      job.state = "submitting";
      job.submissions++;
      job.submitted_at = this.#parts.context.time;
      delete job.is_own;
      job.tokens = [...job.tokens, hashOfToken(token)].slice(-TOKENS_MAX);
      await this.#parts.context.save({ job });
      pair = { execution, job };
    });
    if (pair === undefined) return true;
    const { execution, job } = pair;
    try {
      const spec = { ...jobRef(job, execution), script: script(job.id, token) };
      const launched = await backend.launch(spec, this.#timeLimit());
      await this.#turn(job, (now) => this.#launched(now.job, launched));
      return true;
    } catch (error) {
      if (!signal.aborted) await this.#notLaunched(job, error);
      return error instanceof LaunchRefusedError || error instanceof LaunchLaterError;
    }
  }

  async #launched(job: Job, { id, isNew }: Launched): Promise<void> {
    if (id !== undefined) job.ref = id;
    delete job.launch_error;
    if (isNew && job.claim === undefined) job.is_own = true;
    // Its agent may have come before the answer.
    if (job.state === "submitting") job.state = "submitted";
    await this.#parts.context.save({ job });
  }

  async #notLaunched(submitted: Job, error: unknown): Promise<void> {
    const why = messageOf(error);
    await this.#turn(submitted, async ({ execution, job }) => {
      if (job.claim !== undefined) return;
      if (error instanceof LaunchRefusedError) {
        const ending = decidedEnding(execution) ?? failure(`Cannot run: ${why}`);
        const at_ms = this.#parts.context.clock.now();
        return await end(execution, job, { ending, at_ms }, this.#parts);
      }
      job.launch_error = cut(why);
      if (error instanceof LaunchLaterError) {
        job.state = "planned";
        job.submissions--;
      }
      // Otherwise it may have been launched all the same: the cluster is asked before it is submitted again.
      await this.#parts.context.save({ job });
      const isReachable = execution.reachable !== false;
      await this.#show(execution, { waiting: job.launch_error, isReachable });
    });
  }
}

/** Returns why the command of a job has not started, as the cluster says, or as its last submission says. */
function waitingOf({ claim, launch_error }: Job, seen: Seen): string | undefined {
  if (claim !== undefined) return undefined;
  return seen.kind === "pending" && seen.detail !== undefined ? cut(seen.detail) : launch_error;
}

function cut(text: string): string {
  return text.slice(0, WAITING_LENGTH_MAX);
}

function reasonOf(seen: Extract<Seen, { kind: "absent" | "ended" }>, { claim }: Job): string {
  if (seen.kind === "absent") {
    return "The engine does not know the job any more: how it ended is not known";
  }
  const why = seen.reason === undefined ? "" : `: ${seen.reason}`;
  if (claim !== undefined) return `The job ended without a report of its agent${why}`;
  return `The job ended before its agent reached the service${why}. See that the machine reaches ` +
    "--agent-url and has curl";
}

function newToken(): string {
  return crypto.getRandomValues(new Uint8Array(32))
    .toBase64({ alphabet: "base64url", omitPadding: true });
}
