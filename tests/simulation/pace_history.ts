/**
 * Checks of paces and schedules in a simulation. They read the stored records and the commands that ran.
 *
 * @module
 */
import { keys } from "../../src/store/keys.ts";
import type { Execution } from "../../src/store/records/executions.ts";
import type { Burst, Turn } from "../../src/store/records/held_runs.ts";
import type { Pipeline } from "../../src/store/records/pipelines.ts";
import type { Pace } from "../../src/store/records/pace.ts";
import type { PendingRun, Run } from "../../src/store/records/runs.ts";
import { scheduleNames } from "../../src/store/records/schedules.ts";
import { recordsOf } from "./history.ts";
import type { Mutation } from "./memory_kv.ts";
import { type SimTrigger, SKEW_MS_MAX } from "./plan.ts";
import type { World } from "./world.ts";

/** A burst closes this long after its time at the latest, where nothing else goes on. */
const LATE_MS_MAX = 2_000;
const OPEN_KINDS = ["held", "burst", "turn"];

/** A run, as it was accepted. */
interface Accepted {
  run: Run;
  pace: Pace;
  versionstamp: string;
}

/** Follows the turns of runs. */
export class PaceHistory {
  /** The trigger with a schedule. */
  readonly scheduled: SimTrigger;
  readonly #world: World;
  readonly #triggers: readonly SimTrigger[];
  readonly #accepted = new Map<string, Accepted>();
  readonly #waited = new Set<string>();
  /** The runs that were given a place, in their order. */
  readonly #turns = new Set<string>();
  /** The runs whose commands have run, in their order. */
  readonly #begun = new Set<string>();
  readonly #superseded = new Set<string>();
  /** The number of bursts of each trigger that have closed. */
  readonly #closed = new Map<string, number>();
  readonly #open = new Map<string, { burst: Burst; at_ms: number }>();
  #hasOccurred = false;
  readonly #strange: string[] = [];
  /** The time from which nothing holds up the process that leads. */
  #ready_ms = Infinity;
  #isCalm = false;
  #hasJumped = false;

  constructor(world: World, triggers: readonly SimTrigger[], scheduled = triggers[0]) {
    if (scheduled === undefined) throw new RangeError("Cannot follow paces without a trigger");
    this.#world = world;
    this.#triggers = [...triggers, scheduled];
    this.scheduled = scheduled;
  }

  /** True when no run waits, none takes a place, and the schedule has made a run. */
  get isOver(): boolean {
    return this.#hasOccurred &&
      OPEN_KINDS.every((kind) => recordsOf(this.#world.database, kind, 1).length === 0);
  }

  /** Returns the mutations that store the schedule. */
  scheduleMutations(): Mutation[] {
    const schedule = { cron: "* * * * *", timezone: "UTC", missed: "run" as const };
    const [name = ""] = scheduleNames([schedule]);
    const value = [{ ...schedule, name, since_ms: this.#world.now_ms - 1 }];
    return [{ key: keys.schedule(this.scheduled.id), value: { is: value } }];
  }

  /** Notes that a process takes up what the one before has left. */
  takesOver(): void {
    this.#ready_ms = Infinity;
  }

  /** Notes that a process has done so. */
  leads(): void {
    this.#ready_ms = this.#world.now_ms;
  }

  /** Notes that nothing goes wrong any more, and that time passes only while nothing goes on. */
  calm(): void {
    this.#isCalm = true;
    this.#ready_ms = Math.max(this.#ready_ms, this.#world.now_ms);
  }

  /** Notes that a clock has jumped. */
  jumped(): void {
    this.#hasJumped = true;
  }

  /** Tells whether a run was made of others. */
  isMade({ source, payload }: Run): boolean {
    return source === "schedule" || payload.content_type === "application/jsonl";
  }

  /** Tells whether a run has waited for its turn. */
  hasWaited(runId: string): boolean {
    return this.#waited.has(runId);
  }

  /** Notes what is stored. */
  note({ key, value }: Mutation, versionstamp: string): void {
    const [kind, id] = key;
    if (kind === "held" && value) this.#waited.add(String(id));
    // Each kind of key has its kind of value.
    if (kind === "pending" && value) this.#accept(value.is as PendingRun, versionstamp);
    if (kind === "run" && (value?.is as Run | undefined)?.superseded_by) {
      this.#superseded.add(String(id));
    }
    if (kind === "turn" && value) this.#turns.add((value.is as Turn).run_id);
    if (kind === "burst") this.#noteBurst(value?.is as Burst | undefined, key.join(" "));
  }

  /** Notes that a command of a run begins. */
  begun(runId: string): void {
    if (this.#begun.has(runId)) return;
    this.#begun.add(runId);
    const accepted = this.#accepted.get(runId);
    if (accepted === undefined) return;
    const { run: { trigger_id }, pace: { concurrency, due_ms = 0 } } = accepted;
    if (!this.#hasJumped && due_ms > this.#world.now_ms + SKEW_MS_MAX) {
      this.#strange.push(`run ${runId} began before its time`);
    }
    if (this.#superseded.has(runId)) {
      this.#strange.push(`run ${runId} began though it is superseded`);
    }
    if (concurrency === undefined) return;
    const { key, limit } = concurrency;
    const name = nameOf(trigger_id, key);
    const working = [...this.#begun].filter((id) => this.#laneOf(id) === name && this.#works(id));
    if (working.length > limit) {
      this.#strange.push(`more than ${limit} runs of ${name} had work under way: ${working}`);
    }
  }

  /** Returns what does not hold. */
  findings(runs: readonly Run[]): string[] {
    return [
      ...this.#strange,
      ...this.#triggers.flatMap((trigger) => this.#orderFindings(trigger)),
      ...this.#triggers.flatMap((trigger) => this.#burstFindings(trigger)),
      ...this.#successionFindings(runs),
      ...occurrenceFindings(runs),
    ];
  }

  #accept({ run, pace }: PendingRun, versionstamp: string): void {
    if (this.#accepted.has(run.id)) return;
    this.#hasOccurred ||= run.source === "schedule";
    this.#accepted.set(run.id, { run, pace: pace ?? {}, versionstamp });
  }

  #noteBurst(burst: Burst | undefined, at: string): void {
    const open = this.#open.get(at);
    // One commit may close a burst and open the next one of its key.
    if (open && open.burst.first_ms !== burst?.first_ms) this.#noteClose(open);
    // Nor is one shown that the same commit opens and closes.
    if (!open && !burst) this.#count(at.split(" ")[1] ?? "");
    if (burst) this.#open.set(at, { burst, at_ms: this.#world.now_ms });
    else this.#open.delete(at);
  }

  #count(triggerId: string): void {
    this.#closed.set(triggerId, (this.#closed.get(triggerId) ?? 0) + 1);
  }

  #noteClose({ burst: { trigger_id, key, due_ms }, at_ms }: { burst: Burst; at_ms: number }): void {
    this.#count(trigger_id);
    if (this.#hasJumped) return;
    const { now_ms } = this.#world;
    const what = `the burst of ${nameOf(trigger_id, key)} closed ${
      now_ms - due_ms
    } ms after its time`;
    const until_ms = Math.max(due_ms + SKEW_MS_MAX, at_ms, this.#ready_ms) + LATE_MS_MAX;
    const isLate = this.#isCalm && now_ms > until_ms;
    if (isLate || now_ms + SKEW_MS_MAX < due_ms) this.#strange.push(what);
  }

  /** The name of the key whose places a run's work takes. */
  #laneOf(runId: string): string | undefined {
    const { run, pace } = this.#accepted.get(runId) ?? {};
    return run && pace?.concurrency && nameOf(run.trigger_id, pace.concurrency.key);
  }

  /** True while a run or anything that it has launched has not ended. */
  #works(runId: string): boolean {
    const { database } = this.#world;
    if (database.get(keys.run(runId)).value === null) return true;
    return ["execution", "pipeline"].some((kind) =>
      // Each kind of key has its kind of value. The record of an execution says how its last attempt is.
      (recordsOf(database, kind) as (Execution | Pipeline)[]).some((each) =>
        each.run_id === runId && each.status !== "complete" && !("attempt_of" in each)
      )
    );
  }

  /** Finds runs of a queue that were given a place out of the order of the commits that accepted them. */
  #orderFindings({ id, pace }: SimTrigger): string[] {
    const { coalesce, due_ms, concurrency } = pace?.("", 0) ?? {};
    if (coalesce || due_ms !== undefined || concurrency?.when_full !== "queue") return [];
    const lists = concurrency.limit === 1 ? [this.#turns, this.#begun] : [this.#turns];
    return lists.flatMap((list) => {
      const runs = [...list].flatMap((runId) => this.#accepted.get(runId) ?? [])
        .filter(({ run: { trigger_id } }) => trigger_id === id);
      const byKey = Map.groupBy(runs, ({ pace: { concurrency } }) => concurrency?.key);
      return [...byKey].flatMap(([key, of]) =>
        of.some(({ versionstamp }, index) => versionstamp < (of[index - 1]?.versionstamp ?? ""))
          ? [`trigger ${id}: runs of ${key} were out of order: ${of.map(({ run }) => run.id)}`]
          : []
      );
    });
  }

  /** Finds bursts that made more than one run. */
  #burstFindings({ id, pace }: SimTrigger): string[] {
    if (pace?.("", 0).coalesce === undefined) return [];
    const begun =
      [...this.#begun].filter((runId) => this.#accepted.get(runId)?.run.trigger_id === id).length;
    const closed = this.#closed.get(id) ?? 0;
    return begun <= closed ? [] : [`trigger ${id}: ${closed} bursts made ${begun} runs`];
  }

  /** Finds runs that ended for another one which did not run, or which came on the wrong side of them. */
  #successionFindings(runs: readonly Run[]): string[] {
    const byId = new Map(runs.map((run) => [run.id, run]));
    return runs.flatMap(({ id, superseded_by, skipped_by }) => {
      if (skipped_by !== undefined && !this.#begun.has(skipped_by)) {
        return [`run ${id} was skipped for run ${skipped_by}, which did not run`];
      }
      if (superseded_by === undefined) return [];
      let last = superseded_by;
      for (let steps = 0; steps < runs.length; steps++) {
        last = byId.get(last)?.superseded_by ?? last;
      }
      if (!this.#begun.has(last)) return [`run ${id} is superseded by ${last}, which did not run`];
      const { pace, versionstamp = "" } = this.#accepted.get(id) ?? {};
      const by = this.#accepted.get(superseded_by)?.versionstamp ?? "";
      // Those of one commit have no order.
      const isWrong = pace?.coalesce?.keep === "first" ? versionstamp < by : versionstamp > by;
      return isWrong
        ? [`run ${id} is superseded by ${superseded_by}, on the wrong side of it`]
        : [];
    });
  }
}

/** Finds occurrences that made more than one run. */
function occurrenceFindings(runs: readonly Run[]): string[] {
  const scheduled = runs.filter(({ scheduled_for }) => scheduled_for !== undefined);
  const byTime = Map.groupBy(scheduled, ({ scheduled_for }) => scheduled_for);
  return [...byTime].flatMap(([time, of]) =>
    of.length > 1 ? [`the occurrence of ${time} made ${of.length} runs`] : []
  );
}

function nameOf(triggerId: string, key: string): string {
  return `trigger ${triggerId}, ${key}`;
}
