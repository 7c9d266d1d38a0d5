/**
 * What must hold at the end of a simulation, read from the database, from what senders were told, and from the
 * commands that ran.
 *
 * @module
 */
import { CLOCK_SPREAD_MAX_MS } from "../../src/store/commit/instance_limits.ts";
import { keys } from "../../src/store/keys.ts";
import type { HttpRequest } from "../../src/store/records/http_requests.ts";
import type { Execution } from "../../src/store/records/executions.ts";
import type { Pipeline } from "../../src/store/records/pipelines.ts";
import type { Run } from "../../src/store/records/runs.ts";
import type { MemoryDatabase, Mutation } from "./memory_kv.ts";
import type { PaceHistory } from "./pace_history.ts";
import { type SimTrigger, SKEW_MS_MAX } from "./plan.ts";
import type { Attempt } from "./senders.ts";
import type { World } from "./world.ts";

/** A launch counts for as long as this, in periods. */
const COUNTED_PERIODS = 1.02;
/**
 * The extra time for which a launch counts where several instances share the database. The first part is what
 * a new leader adds to a period. The second is the largest difference of two simulated clocks.
 */
const SPREAD_MS_MAX = CLOCK_SPREAD_MAX_MS + 2 * SKEW_MS_MAX;
const NODES = 3;

/** Follows what is stored of runs. */
export class History {
  readonly #world: World;
  readonly #database: MemoryDatabase;
  /** When the runs of attempts were withdrawn, by their names; Infinity where they were not. */
  readonly #stored = new Map<string, number>();
  /** The ids of runs, each time that they became pending. */
  readonly #accepted: string[] = [];
  readonly #pending = new Map<string, string>();
  /** The ids of runs, each time that their end was stored. */
  readonly #ends: string[] = [];
  /** Who has accepted runs, and by which commits. */
  readonly #origins = new Map<string, { worker: string; versionstamp: string }>();
  /** Up to which commits the runs of instances are claimed. */
  readonly #claimed = new Map<string, string>();
  /** Executions that have ended. */
  readonly #ended = new Set<string>();
  /** What was stored and must never be. */
  readonly #strange: string[] = [];

  readonly #pace: PaceHistory | undefined;

  constructor(world: World, pace?: PaceHistory) {
    this.#world = world;
    this.#pace = pace;
    this.#database = world.database;
    this.#database.onMutation = (mutation, versionstamp) => this.#note(mutation, versionstamp);
  }

  /** True when everything that was accepted has ended. */
  get isOver(): boolean {
    return ["pending", "pipeline_open", "execution_open", "http_request_open"].every((kind) =>
      recordsOf(this.#database, kind, 1).length === 0
    ) && this.#pace?.isOver !== false;
  }

  /** Returns what does not hold. */
  findings(attempts: readonly Attempt[], executed: readonly Execution[]): string[] {
    const runs = this.#runs();
    const launched = runs.filter((run) => !this.#pace?.isMade(run));
    const byName = Object.groupBy(launched, ({ remote_ip }) => remote_ip);
    const findings = [
      ...this.#pace?.findings(runs) ?? [],
      ...this.#strange,
      ...repeated(this.#accepted).map((id) => `run ${id} was stored twice`),
      ...repeated(this.#ends).map((id) => `run ${id} ended twice`),
      ...runs.filter(({ id }) => !this.#accepted.includes(id)).map(({ id }) =>
        `run ${id}: unknown`
      ),
      ...attempts.flatMap((attempt) => this.#attemptFindings(attempt, byName[attempt.name] ?? [])),
      ...this.#workFindings(runs, executed),
    ];
    for (const trigger of new Set(attempts.map(({ trigger }) => trigger))) {
      const of = attempts.filter((attempt) => attempt.trigger === trigger);
      const accepted = of.filter(({ name }) => byName[name] !== undefined);
      findings.push(
        ...exceeded(trigger, accepted),
        ...unjustified(trigger, of, this.#world.isRemote, this.#stored),
        ...doubled(trigger, accepted),
      );
    }
    return findings;
  }

  #runs(): Run[] {
    return ["run", "pending", "held"].flatMap((kind) =>
      recordsOf(this.#database, kind).map((value) => {
        // Only runs are stored under these keys.
        return (kind === "run" ? value : (value as { run: Run }).run) as Run;
      })
    );
  }

  #attemptFindings(attempt: Attempt, runs: readonly Run[]): string[] {
    const { name, outcome, runId, hasLeft, isUndecided, delivery, process } = attempt;
    if (runs.length > 1) return [`launch ${name} made ${runs.length} runs`];
    const [run] = runs;
    if (outcome === "failed") return [`launch ${name} failed: ${attempt.error}`];
    if (outcome === undefined) return [`launch ${name} was not answered`];
    if (outcome === "kept") return [`launch ${name} was accepted though its sender had left`];
    if (outcome === "accepted") {
      if (run?.id !== runId) return [`launch ${name} was told of run ${runId}: it made ${run?.id}`];
      if (run?.status !== "completed") return [`run ${runId} of launch ${name} is ${run?.status}`];
    }
    if (outcome === "repeat") {
      const made = this.#runs().find(({ id }) => id === runId);
      if (made === undefined) return [`launch ${name} repeats run ${runId}, which is not there`];
      if (delivery === undefined) return [`launch ${name} has no id, and is a repeat`];
    }
    // A withdrawal is lost when the process dies before its commit, and comes too late once the run is claimed.
    const mayBeStored = outcome === "accepted" || outcome === "cut off" ||
      outcome === "unavailable" && isUndecided === true ||
      outcome === "unavailable" && hasLeft && (process.isDead || this.#isClaimed(run?.id));
    return run && !mayBeStored ? [`launch ${name} is ${outcome}, and made run ${run.id}`] : [];
  }

  /** Compares the runs with the executions and pipelines that they made. */
  #workFindings(runs: readonly Run[], executed: readonly Execution[]): string[] {
    const executions = recordsOf(this.#database, "execution") as Execution[];
    const pipelines = recordsOf(this.#database, "pipeline") as Pipeline[];
    const findings: string[] = [];
    for (const { id, actions } of runs) {
      const of = executions.filter(({ run_id, attempt_of }) =>
        run_id === id && attempt_of === undefined
      );
      const commands = executed.filter(({ run_id }) => run_id === id);
      const sent = actions.flatMap(({ created }) =>
        created && "http_request_id" in created ? [created.http_request_id] : []
      );
      for (const id of sent) findings.push(...this.#requestFindings(id));
      const expected = actions.reduce(
        (sum, { action }) => sum + (action === "run_pipeline" ? NODES : 1),
        -sent.length,
      );
      const complete = of.filter(({ status }) => status === "complete");
      // The second attempt succeeds.
      const attempts = of.filter(({ retry }) => retry !== undefined).length;
      if (complete.length !== expected || commands.length !== expected + attempts) {
        findings.push(
          `run ${id} has ${complete.length} of ${of.length} executions complete and ran ` +
            `${commands.length} commands, expected ${expected} and ${attempts} attempts more`,
        );
      }
    }
    for (const { id, status, nodes } of pipelines) {
      const attempts = nodes.map(({ attempts }) => attempts);
      if (status !== "complete" || attempts.some((count) => count !== 1)) {
        findings.push(`pipeline ${id} is ${status}, its nodes were launched ${attempts} times`);
      }
    }
    const known = new Set(runs.map(({ id }) => id));
    const strays = executed.filter(({ run_id }) => !known.has(run_id));
    return [...findings, ...strays.map(({ id }) => `command ${id} ran for no run`)];
  }

  #requestFindings(id: string): string[] {
    // Only requests are stored under these keys.
    const request = this.#database.get(keys.httpRequest(id)).value as HttpRequest | null;
    return request?.status === "complete" ? [] : [`request ${id} is ${request?.status}`];
  }

  /** True for a run that another instance has claimed: it is not withdrawn any more. */
  #isClaimed(runId = ""): boolean {
    const { worker = "", versionstamp = "" } = this.#origins.get(runId) ?? {};
    return this.#world.isRemote && versionstamp <= (this.#claimed.get(worker) ?? "");
  }

  #note(mutation: Mutation, versionstamp: string): void {
    const { key: [kind, id], value } = mutation;
    this.#pace?.note(mutation, versionstamp);
    if (kind === "claimed" && value) this.#claimed.set(String(id), String(value.is));
    if (kind === "execution_open" || kind === "http_request_open") {
      this.#noteExecution(String(id), value === undefined);
    }
    if (kind === "run" && value) this.#ends.push(String(id));
    if (kind !== "pending") return;
    if (value === undefined) {
      const name = this.#pending.get(String(id));
      if (name !== undefined && !this.#isEnded(String(id))) {
        this.#stored.set(name, this.#world.now_ms);
      }
      this.#pending.delete(String(id));
    } else if (!this.#pending.has(String(id)) && !this.#pace?.hasWaited(String(id))) {
      // Only pending runs are stored under these keys.
      const { run, worker } = value.is as { run: Run; worker: string };
      this.#pending.set(run.id, run.remote_ip);
      this.#origins.set(run.id, { worker, versionstamp });
      this.#accepted.push(run.id);
      this.#stored.set(run.remote_ip, Infinity);
    }
  }

  #noteExecution(id: string, hasEnded: boolean): void {
    if (hasEnded) this.#ended.add(id);
    else if (this.#ended.has(id)) this.#strange.push(`execution ${id} began again after its end`);
  }

  #isEnded(runId: string): boolean {
    return this.#database.get(keys.run(runId)).value !== null;
  }
}

/** Finds spans of a period with more launches than the quota. */
function exceeded({ id, quotas }: SimTrigger, accepted: readonly Attempt[]): string[] {
  const times = timesOf(accepted);
  return quotas.flatMap(({ period, quota }) =>
    times.flatMap((time_ms, index) => {
      const first_ms = times[index - quota];
      return first_ms !== undefined && time_ms - first_ms < period * 1_000
        ? [`trigger ${id}: more than ${quota} launches in ${period} s, at ${first_ms}…${time_ms}`]
        : [];
    })
  );
}

/** Finds refusals though no quota was used up. */
function unjustified(
  { id, quotas }: SimTrigger,
  attempts: readonly Attempt[],
  isRemote: boolean,
  withdrawn_ms: ReadonlyMap<string, number>,
): string[] {
  return attempts.flatMap(({ name, outcome, decided_ms }) => {
    if (outcome !== "exhausted" || decided_ms === undefined) return [];
    const isUsedUp = quotas.some(({ period, quota }) => {
      const from_ms = decided_ms - COUNTED_PERIODS * period * 1_000 -
        (isRemote ? SPREAD_MS_MAX : 0);
      const stored = attempts.filter(({ name }) =>
        (withdrawn_ms.get(name) ?? 0) >= (isRemote ? 1 : decided_ms)
      );
      const counted = timesOf(stored).filter((time_ms) =>
        time_ms >= from_ms && time_ms <= decided_ms
      );
      return counted.length >= quota;
    });
    return isUsedUp ? [] : [`trigger ${id}: launch ${name} was refused though there was room`];
  });
}

/** Finds deliveries that made a second run within their window. */
function doubled({ id, window_s }: SimTrigger, accepted: readonly Attempt[]): string[] {
  if (window_s === undefined) return [];
  const byDelivery = Object.groupBy(accepted, ({ delivery }) => delivery ?? "");
  return Object.entries(byDelivery).flatMap(([delivery, of = []]) => {
    const times = timesOf(of);
    const isDoubled = times.some((time_ms, index) =>
      time_ms - (times[index - 1] ?? -Infinity) < window_s * 1_000
    );
    return isDoubled ? [`trigger ${id}: ${delivery} launched twice within ${window_s} s`] : [];
  });
}

function timesOf(attempts: readonly Attempt[]): number[] {
  return attempts.map(({ decided_ms = 0 }) => decided_ms).sort((a, b) => a - b);
}

/** Returns the records of one kind, in the order of their keys. */
export function recordsOf(
  database: MemoryDatabase,
  kind: string,
  limit = Infinity,
): unknown[] {
  // The encoded keys of one kind: behind its own, before that with the highest byte.
  const range = {
    from: `\x02${kind}\0\0`,
    to: `\x02${kind}\0\xff`,
    limit,
    reverse: false,
  };
  return database.range(range).map(({ entry: { value } }) => value);
}

function repeated(ids: readonly string[]): string[] {
  return ids.filter((id, index) => ids.indexOf(id) !== index);
}
