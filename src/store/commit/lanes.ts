/**
 * The commits of one instance to a database that several instances share: of launches, and of what no other
 * instance writes.
 *
 * An instance has some lanes, and one commit at a time is under way in each: a {@linkcode CommitChain}. So one
 * that Deno sends again after a lost answer is stored once, and its lane tells whether it was. While that is
 * not known, the lane is busy, and its senders wait. Removing the lanes of an instance keeps it from storing
 * anything more, as a fencing token does.
 *
 * A commit also checks the version of the triggers and the records that its changes are decided on. When
 * another instance has changed one of these, they are read again, and the changes are decided again.
 *
 * Several commits are under way at once, since a remote database answers one that is alone on its connection
 * late: 21 commits/s with one, 442 with four (Nagle's algorithm against delayed acknowledgements).
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { nextTick } from "node:process";
import type { Clock } from "../../platform/clock.ts";
import { messageOf, UnavailableError } from "../../platform/errors.ts";
import { pause } from "../../platform/waiting/timers.ts";
import { BatchSize } from "./batch_size.ts";
import type { Change, Guard, Write } from "./change.ts";
import {
  ABANDONED,
  apply,
  asUnavailable,
  type CommitterEvents,
  type Intake,
  isRefusedValue,
} from "./committer.ts";
import { CommitChain } from "./commit_chain.ts";
import { type LaneRecord, laneWrites } from "./lane_records.ts";
import type { TriggerVersion } from "./trigger_version.ts";

/** A commit takes ten checks on denokv: of its lane, of the triggers' version, and these. */
const GUARDS_MAX = 8;
/** Mutations of a commit beside its changes: its lane and its guards. */
const RESERVED = GUARDS_MAX + 1;
/** Limit of how often a change is decided again because other instances were faster. */
const TRIES_MAX = 8;
/** The longest pause before the second try; it doubles with each. */
const RETRY_MS = 10;
const RETRY_MS_MAX = 300;
const WAITING_MAX = 16_384;
const WITHDRAWAL_RETRY_MS = 1_000;

const OVERTAKEN = new UnavailableError(
  "Cannot store: other instances change the same record all the time",
  1,
);
const FENCED = new UnavailableError(
  "Cannot store: another instance has taken this one for gone",
  5,
);
const TOO_MANY = new UnavailableError("Cannot store: too many changes wait", 1);
const STOPPED = new UnavailableError("Cannot store: the service stops", 1);

const log = getLogger(["hooklaunch", "store"]);

interface Lane {
  chain: CommitChain<LaneRecord>;
  isBusy: boolean;
}

interface Waiting {
  change: Change;
  tries: number;
  /** Set when it is stored by itself, since its commit with others was refused. */
  isAlone?: boolean;
  resolve(): void;
  reject(reason: unknown): void;
}

interface Prepared extends Waiting {
  list: readonly Write[];
}

/** The parts of {@linkcode Lanes}. */
export interface LanesParts {
  kv: Deno.Kv;
  clock: Clock;
  instanceId: string;
  triggers: TriggerVersion;
  events?: CommitterEvents;
  answer_ms?: number | undefined;
  /** Called when the lanes are gone. */
  onFenced(): void;
}

/** Stores changes, several commits at a time. */
export class Lanes implements Intake {
  readonly #parts: LanesParts;
  readonly #lanes: readonly Lane[];
  /** The names of the guards of commits that are under way. */
  readonly #inFlight = new Set<string>();
  readonly #closing = new AbortController();
  #waiting: Waiting[] = [];
  /** Changes that are neither waiting nor in a commit: something is read for them. */
  #refreshing = 0;
  #isPumping = false;
  #failures = 0;
  /** The reason why nothing is stored any more. */
  #end: UnavailableError | undefined;

  /** @param versionstamp of the commit that has stored the lanes */
  constructor(parts: LanesParts, versionstamp: string) {
    this.#parts = parts;
    const { kv, clock, instanceId, answer_ms } = parts;
    this.#lanes = laneWrites(instanceId).map(({ key }) => {
      const chainParts = { kv, clock, key, answer_ms, isOwn: (found: unknown) => found !== null };
      return { chain: new CommitChain(chainParts, { accepted: 0 }, versionstamp), isBusy: false };
    });
  }

  get waiting(): number {
    return this.#waiting.length + this.#refreshing;
  }

  get failures(): number {
    return this.#failures;
  }

  commit(change: Change): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const fail = (reason: unknown) => {
      if (reason instanceof UnavailableError && reason !== ABANDONED) this.#failures++;
      reject(reason);
    };
    if (this.#end) fail(this.#end);
    else if (this.waiting >= WAITING_MAX) fail(TOO_MANY);
    else {
      this.#waiting.push({ change, tries: 0, resolve, reject: fail });
      this.#pump();
    }
    return promise;
  }

  write(writes: readonly Write[]): Promise<void> {
    return this.commit({ writes: () => writes });
  }

  async writeInParts(writes: readonly Write[]): Promise<void> {
    for (let start = 0; start < writes.length; start += 100) {
      await this.write(writes.slice(start, start + 100));
    }
  }

  /** Resolves when nothing waits any more. */
  async drain(): Promise<void> {
    while (this.waiting > 0 || this.#lanes.some(({ isBusy }) => isBusy)) {
      if (this.#end) break;
      await pause(this.#parts.clock, RETRY_MS, this.#closing.signal);
    }
    this.#closing.abort();
  }

  /** Stores nothing more: the lanes are gone. */
  fence(): void {
    // An instance that leaves removes them itself.
    if (this.#end !== undefined) return;
    this.#stop(FENCED);
    this.#parts.onFenced();
  }

  /** Stores nothing more, and waits for no commit any more whose end is not known. */
  close(): void {
    this.#stop(STOPPED);
    for (const { chain } of this.#lanes) chain.close();
  }

  #stop(reason: UnavailableError): void {
    this.#end ??= reason;
    this.#closing.abort();
    for (const { reject } of this.#waiting.splice(0)) reject(reason);
  }

  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    // What else this turn of the event loop brings joins the first batch.
    nextTick(() => {
      this.#isPumping = false;
      for (const lane of this.#lanes) {
        if (lane.isBusy || this.#end) continue;
        const batch = this.#take();
        if (batch.length === 0) break;
        lane.isBusy = true;
        void this.#store(lane, batch).finally(() => {
          lane.isBusy = false;
          for (const guard of guardsOf(batch)) this.#inFlight.delete(nameOf(guard));
          this.#pump();
        });
      }
    });
  }

  /** Takes as many waiting changes as one commit holds, but for those whose guards are in another lane. */
  #take(): Prepared[] {
    const batch: Prepared[] = [];
    const size = new BatchSize(RESERVED);
    const guards = new Map<string, Guard>();
    const left: Waiting[] = [];
    let isFull = false;
    for (const waiting of this.#waiting) {
      const { change, isAlone } = waiting;
      if (isFull || (isAlone && batch.length > 0) || !this.#hasPlace(change, guards)) {
        left.push(waiting);
      } else if (change.isAbandoned?.()) waiting.reject(ABANDONED);
      else {
        const refreshed = change.refresh?.();
        if (refreshed) this.#refresh(waiting, refreshed);
        else isFull = !this.#prepare(waiting, { batch, size, guards, left }) || isAlone === true;
      }
    }
    this.#waiting = left;
    for (const guard of guardsOf(batch)) this.#inFlight.add(nameOf(guard));
    return batch;
  }

  /** Two guards of one record are decided on apart, so they are never in one commit, nor under way at once. */
  #hasPlace({ guards = [] }: Change, taken: ReadonlyMap<string, Guard>): boolean {
    if (guards.some((guard) => this.#inFlight.has(nameOf(guard)))) return false;
    const known = guards.map((guard) => taken.get(nameOf(guard)));
    if (known.some((each, index) => each !== undefined && each !== guards[index])) return false;
    return taken.size + known.filter((each) => each === undefined).length <= GUARDS_MAX;
  }

  /** @returns false when the batch has no room for it */
  #prepare(
    waiting: Waiting,
    { batch, size, guards, left }: {
      batch: Prepared[];
      size: BatchSize;
      guards: Map<string, Guard>;
      left: Waiting[];
    },
  ): boolean {
    let list: readonly Write[];
    try {
      list = waiting.change.writes();
    } catch (error) {
      waiting.reject(error);
      return true;
    }
    if (!size.add(list)) {
      waiting.change.undo?.();
      left.push(waiting);
      return false;
    }
    batch.push({ ...waiting, list });
    for (const guard of waiting.change.guards ?? []) guards.set(nameOf(guard), guard);
    return !size.isFull;
  }

  #refresh(waiting: Waiting, refreshed: Promise<void>): void {
    this.#refreshing++;
    refreshed.then(() => void this.#waiting.unshift(waiting), (error) => {
      waiting.reject(asUnavailable(error));
    }).finally(() => {
      this.#refreshing--;
      if (this.#end) waiting.reject(this.#end);
      this.#pump();
    });
  }

  async #store(lane: Lane, batch: readonly Prepared[]): Promise<void> {
    const started_ms = this.#parts.clock.steady();
    let versionstamp: string | undefined;
    try {
      versionstamp = await this.#atomic(lane, batch);
    } catch (error) {
      for (const { change } of batch.toReversed()) change.undo?.();
      const isRefused = batch.length > 1 && isRefusedValue(error) && this.#end === undefined;
      for (const waiting of batch) {
        // One value that the database refuses must not take the others down with it.
        if (isRefused) this.#waiting.unshift({ ...waiting, isAlone: true });
        else waiting.reject(asUnavailable(error));
      }
      return;
    }
    if (versionstamp === undefined) await this.#decideAgain(batch);
    else this.#stored(batch, versionstamp, started_ms);
  }

  /** @returns the commit's versionstamp, "" when there was nothing to store; undefined on a conflict */
  async #atomic(lane: Lane, batch: readonly Prepared[]): Promise<string | undefined> {
    const writing = batch.filter(({ list }) => list.length > 0);
    if (writing.length === 0) return "";
    const operation = this.#parts.kv.atomic().check(this.#parts.triggers.check);
    for (const { key, versionstamp, value } of guardsOf(writing)) {
      apply(operation.check({ key, versionstamp }), { key, value });
    }
    const shared = new Map<string, Write>();
    for (const write of writing.flatMap(({ list }) => list)) {
      if (write.sharedAs === undefined) apply(operation, write);
      else shared.set(write.sharedAs, write);
    }
    for (const write of shared.values()) apply(operation, write);
    const accepted = writing.filter(({ change }) => change.wakes).length;
    const record = { accepted: lane.chain.record.accepted + accepted };
    const end = await lane.chain.commit(operation, record);
    if (end === "refused") return undefined;
    if (end !== "lost") return end.versionstamp;
    this.fence();
    throw FENCED;
  }

  /** Reads again what a batch was decided on, and lets its changes wait for the next commit. */
  async #decideAgain(batch: readonly Prepared[]): Promise<void> {
    const { triggers, clock, events } = this.#parts;
    for (const { change } of batch.toReversed()) change.undo?.();
    for (const guard of guardsOf(batch)) guard.invalidate();
    events?.onConflict?.(batch.length);
    const tries = 1 + Math.max(...batch.map(({ tries }) => tries));
    try {
      await pause(clock, Math.random() * Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** tries));
      await triggers.sync();
    } catch (error) {
      for (const { reject } of batch) reject(asUnavailable(error));
      return;
    }
    const again = batch.filter(({ change, reject }) => {
      const isLast = change.guards !== undefined && tries > TRIES_MAX;
      if (isLast) reject(OVERTAKEN);
      return !isLast;
    });
    if (this.#end) { for (const { reject } of again) reject(this.#end); }
    else this.#waiting.unshift(...again.map((waiting) => ({ ...waiting, tries })));
  }

  #stored(batch: readonly Prepared[], versionstamp: string, started_ms: number): void {
    const changes = batch.filter(({ list }) => list.length > 0);
    if (versionstamp !== "") { for (const guard of guardsOf(changes)) guard.stored(versionstamp); }
    for (const { change, list, resolve, reject } of batch) {
      if (list.length > 0) change.stored?.(versionstamp);
      if (list.length > 0 && change.withdrawal && change.isAbandoned?.()) {
        this.#withdraw(change.withdrawal, reject);
      } else resolve();
    }
    const { clock, events } = this.#parts;
    if (changes.length > 0) events?.onCommit?.(changes.length, clock.steady() - started_ms);
  }

  /** Stores a withdrawal before anything else. Tries until it is stored. */
  #withdraw(change: Change, abandon: (reason: unknown) => void): void {
    const again = async (reason: unknown) => {
      if (this.#closing.signal.aborted) return abandon(ABANDONED);
      log.error("Cannot withdraw a launch whose sender has gone, trying again: {error}", {
        error: messageOf(reason),
      });
      await pause(this.#parts.clock, WITHDRAWAL_RETRY_MS, this.#closing.signal);
      this.#withdraw(change, abandon);
      this.#pump();
    };
    this.#waiting.unshift({
      change,
      tries: 0,
      resolve: () => abandon(ABANDONED),
      reject: (reason) => void again(reason),
    });
  }
}

function nameOf({ key }: Guard): string {
  return key.join(" ");
}

function guardsOf(batch: readonly Waiting[]): Set<Guard> {
  return new Set(batch.flatMap(({ change }) => change.guards ?? []));
}
