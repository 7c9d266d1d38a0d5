/**
 * The instances that share a remote database. Each accepts launches. One of them leads: it performs the work
 * and makes the changes of operators. All answer what operators read.
 *
 * An instance shows that it lives by rewriting its record. Others judge it by the changes that they observe,
 * not by clocks. The leader removes the records and lanes of one that is silent, which stores nothing more
 * then.
 *
 * Quotas count by the instances' clocks, so each measures how far its clock is from the leader's, and serves
 * only while that is little.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../platform/clock.ts";
import { ConflictError, messageOf, UnavailableError } from "../../platform/errors.ts";
import { pause, within } from "../../platform/waiting/timers.ts";
import type { Write } from "./change.ts";
import { FORMAT_VERSION, keys } from "../keys.ts";
import { GoneInstances } from "./gone_instances.ts";
import {
  type InstanceRecord,
  type LeaderLoad,
  type Seen,
  seenAgain,
  type SeenInstance,
  spanSince,
} from "./instance_record.ts";
import { CLOCK_DIFFERENCE_MAX_MS, CLOCK_SPREAD_MAX_MS, GONE_MS } from "./instance_limits.ts";
import { AcceptedByOthers, laneWrites, removeInstanceWrites, removeLanes } from "./lane_records.ts";
import { ObstacleLog } from "./obstacle_log.ts";
import type { Owner } from "./ownership.ts";
import { TimedCalls } from "./timed_calls.ts";

/** Pause between two looks at the other instances. */
const LOOK_MS = 250;
const BEAT_MS = 1_000;
/** An instance that has not seen the others for so long does not serve. */
const VIEW_MS_MAX = 5_000;
/** Measurements of a difference. The least of them is nearest to it, as each includes a delay. */
const MEASURED_MAX = 8;
const MEASURED_MIN = 2;
/** After a change of the leader, differences are measured again within this time. */
const NEW_LEADER_MS = 5_000;
const RELEASE_MS = 1_000;
/** An instance that has shown nothing for so long has ended, unless it is frozen. */
const DEAD_MS = 3 * BEAT_MS;
const COPIED =
  "Cannot use the data folder: it is a copy of another instance's. Stop this instance, and " +
  "remove the file machine_id from its data folder. The other instance is";

const log = getLogger(["hooklaunch", "store"]);

/** The parts of {@linkcode Instances}. */
interface InstancesParts {
  kv: Deno.Kv;
  clock: Clock;
  id: string;
  machineId: string;
  look_ms?: number;
  gone_ms?: number;
  answer_ms?: number | undefined;
  /** Called when this instance's record is gone, or another one has taken the lead from it. */
  onFenced(): void;
}

/** Joins the instances of a database. */
export class Instances {
  readonly #parts: InstancesParts;
  readonly #look_ms: number;
  readonly #gone_ms: number;
  readonly #calls: TimedCalls;
  readonly #closing = new AbortController();
  #record: InstanceRecord;
  #versionstamp: string | null = null;
  readonly #seen = new Map<string, Seen>();
  #leaderId: string | undefined;
  #leaderShares = true;
  /** The last time at which the leader changed or an instance left. */
  #changed_ms = -Infinity;
  #measured: number[] = [];
  #looked_ms = -Infinity;
  #format: unknown;
  readonly #obstacles = new ObstacleLog();
  #working: Promise<unknown> = Promise.resolve();
  readonly #acceptedByOthers: AcceptedByOthers;
  /** The instances that were taken for gone, while this one leads. */
  readonly gone = new GoneInstances();
  /** Set until the service has begun. The leader does not have its triggers before. */
  isStarting = false;
  /** Called on the leader with the number of launches that other instances have accepted since. */
  onAccepted: (count: number) => void = () => {};
  /** Called when others have left, or were taken for gone: they store nothing any more. */
  onLeft: () => void = () => {};
  /** Stores the removal of an instance; set on the leader. */
  remove: ((writes: readonly Write[]) => Promise<void>) | undefined;
  /** Returns how this instance's pending runs limit the others, while it leads. */
  load: () => LeaderLoad = () => ({ isFull: false });

  constructor(parts: InstancesParts) {
    this.#parts = parts;
    this.#acceptedByOthers = new AcceptedByOthers(parts.kv, parts.id);
    this.#look_ms = parts.look_ms ?? LOOK_MS;
    this.#gone_ms = parts.gone_ms ?? GONE_MS;
    this.#calls = new TimedCalls(parts.clock, parts.answer_ms);
    this.#record = {
      id: parts.id,
      machine_id: parts.machineId,
      started_at: new Date(parts.clock.now()).toISOString(),
      beats: 0,
      time_ms: parts.clock.steady(),
    };
  }

  get machineId(): string {
    return this.#record.machine_id;
  }

  /** The address at which the others reach this instance, once it is known. */
  get url(): string | undefined {
    return this.#record.url;
  }

  /** Tells the others about this instance. */
  announce(told: Pick<InstanceRecord, "url" | "version" | "settings">): void {
    this.#record = { ...this.#record, ...told };
  }

  /**
   * Tells the others that this instance looks after what its machine runs. An instance that ran on the machine
   * before, and was killed a moment ago, is waited for.
   *
   * @throws {ConflictError} when another instance with this machine's id lives: one of the data folders is a copy
   */
  async takeMachine(): Promise<void> {
    const { kv, clock, id, machineId } = this.#parts;
    const beats = new Map<string, number>();
    while (!this.#closing.signal.aborted) {
      const others = this.all.filter((other) => other.machine_id === machineId && other.id !== id);
      const living = others.filter(({ silent_ms }) => silent_ms < DEAD_MS);
      if (living.length === 0) {
        // What the dead have sent may arrive late.
        const fenced = this.#calls.call(() => removeLanes(kv, others));
        if (await fenced.then(() => true, noteFailed)) break;
      }
      for (const other of living) {
        const before = beats.getOrInsert(other.id, other.beats);
        if (other.beats > before) throw new ConflictError(`${COPIED} ${other.url ?? other.id}`);
      }
      await pause(clock, this.#look_ms, this.#closing.signal);
    }
    this.#record = { ...this.#record, has_machine: true };
  }

  /** Stores the records of this instance, and begins to look at the others; returns the commit's versionstamp. */
  async join(): Promise<string> {
    const { kv, id } = this.#parts;
    const operation = kv.atomic().check({ key: keys.instance(id), versionstamp: null });
    for (const { key, value } of laneWrites(id)) operation.set(key, value);
    const result = await operation.set(keys.claimed(id), "").set(keys.instance(id), this.#record)
      .commit();
    // It may have been stored, and been sent once more because the answer was lost.
    const versionstamp = result.ok
      ? result.versionstamp
      : (await kv.get(keys.instance(id))).versionstamp;
    if (versionstamp === null) throw new UnavailableError("Cannot join the other instances", 1);
    this.#versionstamp = versionstamp;
    await this.look();
    this.#working = Promise.all([
      this.#repeat(BEAT_MS, () => this.#beat()),
      this.#repeat(this.#look_ms, () => this.look()),
    ]);
    return versionstamp;
  }

  /** The reason why this instance accepts no launches; undefined when it does. */
  get obstacle(): string | undefined {
    const { clock } = this.#parts;
    if (this.#closing.signal.aborted) return "it is no instance of this database any more";
    if (clock.steady() - this.#looked_ms > VIEW_MS_MAX) return "the database does not answer";
    if (this.#format !== FORMAT_VERSION) return "the data has another format";
    if (!this.#leaderShares) return "an earlier version of Hooklaunch has the database";
    if (this.isLeader) return this.isStarting ? "it applies its configuration" : undefined;
    const ahead_ms = this.#ahead_ms;
    if (ahead_ms === undefined || this.#record.ahead_ms === undefined) {
      return "its clock is not compared with the leader's yet";
    }
    if (Math.abs(ahead_ms) <= CLOCK_DIFFERENCE_MAX_MS) return undefined;
    return `its clock differs from the leader's by ${Math.round(ahead_ms)} ms, at most ` +
      `${CLOCK_DIFFERENCE_MAX_MS} ms are allowed`;
  }

  /** True when this instance leads. */
  get isLeader(): boolean {
    return this.#leaderId === this.#parts.id;
  }

  /** The leader, when it is known and alive. */
  get leader(): InstanceRecord | undefined {
    return this.#seen.get(this.#leaderId ?? "")?.record;
  }

  /**
   * Returns the largest difference between the clocks that counted the launches of the last period, in
   * milliseconds. The clock of an instance that has left is not known: then it is the largest that is allowed.
   */
  clockSpread_ms(period_ms: number): number {
    const same_ms = this.#parts.clock.steady() - this.#changed_ms;
    if (same_ms < Math.max(NEW_LEADER_MS, period_ms + CLOCK_SPREAD_MAX_MS)) {
      return CLOCK_SPREAD_MAX_MS;
    }
    const ahead = [...this.#seen.values()].map(({ record }) => record.ahead_ms ?? 0);
    return Math.max(0, this.#record.ahead_ms ?? 0, ...ahead) -
      Math.min(0, this.#record.ahead_ms ?? 0, ...ahead);
  }

  /** True while the leader has no room for more pending runs. */
  get isLeaderFull(): boolean {
    return this.leader?.is_full === true;
  }

  /**
   * The launches that this instance may accept until the leader's next beat, whose number identifies it; undefined
   * while there is no limit, or the leader is silent.
   */
  get room(): { launches: number; beat: number } | undefined {
    const seen = this.#seen.get(this.#leaderId ?? "");
    if (seen?.record.room === undefined || seen.looks * this.#look_ms >= DEAD_MS) return undefined;
    return { launches: seen.record.room, beat: seen.record.beats };
  }

  /** All instances, those that are silent among them. */
  get all(): SeenInstance[] {
    const now_ms = this.#parts.clock.steady();
    return [...this.#seen.values()].map(({ record, looks, obstructed_ms, differing_ms }) => ({
      ...record,
      isLeader: record.id === this.#leaderId,
      isSelf: record.id === this.#parts.id,
      silent_ms: looks * this.#look_ms,
      ...(obstructed_ms !== undefined && { obstructed: spanSince(obstructed_ms, now_ms) }),
      ...(differing_ms !== undefined && { differing: spanSince(differing_ms, now_ms) }),
    }));
  }

  /** Resolves when launches are accepted, or the signal aborts. */
  async serving(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.obstacle !== undefined) {
      this.#obstacles.note(this.obstacle);
      await pause(this.#parts.clock, this.#look_ms, signal);
    }
  }

  /** Removes the records of this instance. */
  async leave(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    const { kv, clock, id } = this.#parts;
    await within(clock, RELEASE_MS, this.#working);
    const operation = kv.atomic();
    for (const { key } of removeInstanceWrites(id)) operation.delete(key);
    const left = operation.commit().catch(() => {
      // The leader removes them.
    });
    await within(clock, RELEASE_MS, left);
  }

  #noteObstacle(): void {
    // At its start, `serving` notes it.
    const isAtStart = this.isStarting ||
      (!this.#obstacles.hasServed && this.obstacle !== undefined);
    if (!isAtStart && !this.#closing.signal.aborted) this.#obstacles.note(this.obstacle);
  }

  async #repeat(pause_ms: number, work: () => Promise<void>): Promise<void> {
    const { clock } = this.#parts;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await pause(clock, pause_ms, signal);
      if (signal.aborted) break;
      await work().catch(noteFailed);
    }
  }

  async #beat(): Promise<void> {
    const { kv, clock, id } = this.#parts;
    const ahead_ms = this.isLeader ? 0 : this.#ahead_ms;
    const { ahead_ms: _before, ...record } = this.#record;
    const { obstacle } = this;
    const { isFull, ended, pace, executionsWait } = this.load();
    const next: InstanceRecord = {
      ...record,
      beats: record.beats + 1,
      time_ms: clock.steady(),
      ...(ahead_ms === undefined ? {} : { ahead_ms }),
      ...(obstacle === undefined ? {} : { obstacle }),
      ...(isFull ? { is_full: true as const } : {}),
      ...(this.isLeader && pace ? { pace } : {}),
      ...(this.isLeader && executionsWait ? { executions_wait: true as const } : {}),
      ...(ended === undefined ? {} : { room: Math.floor(ended / Math.max(1, this.#seen.size)) }),
    };
    const key = keys.instance(id);
    const operation = kv.atomic().check({ key, versionstamp: this.#versionstamp }).set(key, next);
    const result = await this.#calls.call(() => operation.commit());
    const found = result.ok ? undefined : await this.#calls.call(() => kv.get<InstanceRecord>(key));
    if (found?.value === null) {
      this.#closing.abort();
      log.error("Another instance has taken this one for gone: it stores nothing any more");
      return this.#parts.onFenced();
    }
    this.#versionstamp = result.ok ? result.versionstamp : found?.versionstamp ?? null;
    // More may have been announced meanwhile.
    const { beats, time_ms } = next;
    this.#record = { ...this.#record, beats, time_ms, ...(ahead_ms !== undefined && { ahead_ms }) };
  }

  /** Reads the records of all instances, and the format of the data. */
  async look(): Promise<void> {
    const { kv, clock } = this.#parts;
    const [owner, format] = await this.#calls.call(() =>
      kv.getMany<[Owner, number]>([keys.owner(), keys.format()])
    );
    const entries = await this.#calls.call(() =>
      Array.fromAsync(kv.list<InstanceRecord>({ prefix: ["instance"] }))
    );
    const now_ms = clock.steady();
    // Before what follows ends it: the database may not have answered for long.
    this.#noteObstacle();
    this.#format = format.value;
    this.#leaderShares = owner.value === null || owner.value.shares === true;
    if (owner.value !== null && owner.value.process !== this.#leaderId) {
      // The first leader that is seen is not a new one, unless it is this instance.
      const isNew = this.#leaderId !== undefined || owner.value.process === this.#parts.id;
      if (isNew) this.#changed_ms = now_ms;
      // Its own commits tell it, too, unless none of them is answered.
      if (this.isLeader) this.#parts.onFenced();
      this.#leaderId = owner.value.process;
      this.#measured = [];
    }
    const gone = new Set(this.#seen.keys());
    for (const { value: record, versionstamp } of entries) {
      gone.delete(record.id);
      const before = this.#seen.get(record.id);
      const isChanged = before !== undefined && before.versionstamp !== versionstamp;
      if (isChanged && record.id === this.#leaderId) this.#measure(now_ms - record.time_ms);
      const found = { record, versionstamp };
      this.#seen.set(record.id, seenAgain(before, found, { own: this.#record, now_ms }));
    }
    for (const id of gone) this.#seen.delete(id);
    if (gone.size > 0) this.#changed_ms = now_ms;
    this.#looked_ms = now_ms;
    this.#noteObstacle();
    if (gone.size > 0) this.onLeft();
    if (this.isLeader) await this.#lead();
  }

  #measure(ahead_ms: number): void {
    this.#measured = [ahead_ms, ...this.#measured].slice(0, MEASURED_MAX);
  }

  /** After a change of the leader, the difference from the one before stands until it is measured. */
  get #ahead_ms(): number | undefined {
    if (this.#measured.length < MEASURED_MIN) return this.#record.ahead_ms;
    return Math.min(...this.#measured);
  }

  /** Does what the leader does for the others. */
  async #lead(): Promise<void> {
    await this.#calls.call(async () => {
      const accepted = await this.#acceptedByOthers.sinceLast();
      if (accepted > 0) this.onAccepted(accepted);
    });
    const now_ms = this.#parts.clock.now();
    const present = Array.from(this.#seen.values(), ({ record }) => record);
    const back = this.gone.forget(present, now_ms);
    if (back.length > 0) await this.remove?.(back);
    for (const { record, looks } of this.#seen.values()) {
      if (record.id === this.#parts.id || looks * this.#look_ms < this.#gone_ms) continue;
      log.warn("Instance {id} is silent for {seconds} s: it is taken for gone", {
        id: record.id,
        seconds: this.#gone_ms / 1_000,
      });
      const noted = this.gone.writesOf(record, present, now_ms);
      await this.remove?.([...removeInstanceWrites(record.id), ...noted]);
    }
  }
}

function noteFailed(error: unknown): boolean {
  log.error("Cannot look at the other instances: {error}", { error: messageOf(error) });
  return false;
}
