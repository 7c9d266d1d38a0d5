/**
 * The worker performs pending runs, a bounded number at a time.
 *
 * The pending runs in the database are the truth. A message of the database's queue wakes the worker, which
 * lists them. A run that this process accepts does not wait for that: it is handed over in memory. Runs that
 * no message woke (accepted before a crash, or while memory held enough) are found at the start, when there
 * is room again, and by a sweep each minute. While some are still to be found, none is handed over, so that
 * runs are performed in the order in which they came.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { newId } from "../platform/ids.ts";
import { NextCall } from "../platform/waiting/timers.ts";
import { getPending, pendingEntries, type PendingRun, type Run } from "../store/records/runs.ts";
import type { LeaderLoad } from "../store/commit/instance_record.ts";
import type { WaitingRun } from "./outcome.ts";
import { Allowance } from "./allowance.ts";
import { Claims, Unclaimed } from "./claims.ts";
import { PacedEntries } from "./pace/paced_entries.ts";
import { Pacer } from "./pace/pacer.ts";
import { readPending } from "./own_runs.ts";
import { performUntilFinal } from "./perform.ts";
import { Places } from "./places.ts";
import { RunEnds } from "./run_ends.ts";
import { pollUntil, RunWaiters } from "./run_waiters.ts";
import { WorkShare } from "./work_share.ts";
import type { WorkerParts } from "./worker_parts.ts";

/** Runs that are performed at a time. Most of them wait for the same commit, or for the same fetch of git. */
const CONCURRENCY = 512;
/** The pause after a search for pending runs that failed, or that was stopped by a launch with an open end. */
const CLAIM_RETRY_MS = 250;
/** Limit of the runs that wait in memory. With 50,000, garbage collections made launches a tenth slower. */
const HELD_MAX = 2_000;
/** Limit of the accepted runs that have not ended. */
const BACKLOG_MAX = 100_000;

const log = getLogger(["hooklaunch", "runs"]);

/** Performs pending runs. */
export class Worker {
  /** Names this worker in the pending runs that are its own. */
  readonly id: string;
  readonly #parts: WorkerParts;
  readonly #concurrency: number;
  readonly #heldMax: number;
  readonly #places: Places;
  /** The runs that are in memory: announced, waiting, or being performed. */
  readonly #held = new Map<string, Run | undefined>();
  readonly #waiters = new RunWaiters();
  readonly #abort = new AbortController();
  /** The runs that have work before them, in memory or in the database, with their triggers. */
  readonly #pending = new Map<string, string>();
  readonly #share: WorkShare;
  /** The launches that this instance may accept while another one leads; undefined where it has the database alone. */
  readonly #allowance: Allowance | undefined;
  readonly #unclaimed = new Unclaimed();
  /** The instances that the last pass over the pending runs has met. */
  readonly #met = new Set<string>();
  readonly #nextClaim: NextCall;
  #claiming: Promise<void> | undefined;
  #claimAgain = false;
  /** The runs that have ended, or were withdrawn, since the listing began, which may show them still. */
  readonly #goneMeanwhile = new Set<string>();
  #isStarting = false;
  /** False while another instance performs the runs that are not their instances' own. */
  #leads: boolean;
  /** The runs that were announced before the start: another instance may have begun with them. */
  readonly #announcedBefore = new Set<string>();
  #closing = false;
  /** Decides on the turns of runs that have a pace. */
  readonly pacer: Pacer;
  /** True once instances have accepted runs with a pace. */
  #isPaced = false;
  readonly #ends: RunEnds;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#concurrency = parts.concurrency ?? CONCURRENCY;
    this.#heldMax = parts.heldMax ?? HELD_MAX;
    this.#leads = parts.store.shared === undefined;
    this.#nextClaim = new NextCall(parts.clock);
    const share = this.#share = new WorkShare(parts.clock, this.#concurrency);
    this.#places = new Places({
      clock: parts.clock,
      concurrency: this.#concurrency,
      share,
      perform: (waiting) => this.#perform(waiting),
      next: () => this.wake(),
    });
    const { shared } = parts.store;
    this.#allowance = shared && new Allowance(shared.instances);
    this.id = shared?.id ?? newId(parts.clock.now());
    this.#ends = new RunEnds({ ...parts, signal: this.#abort.signal });
    this.pacer = new Pacer({
      ...parts,
      perform: (pending, repeated) => this.#performPaced(pending, repeated),
      onEnd: (run) => this.#tellEnd(run),
      room: { limits: parts.paceLimits, onFull: parts.onPaceFull },
    });
  }

  /** Number of runs that have not ended, in memory or in the database. */
  get backlog(): number {
    return this.#pending.size + this.#unclaimed.count;
  }

  /** True when the limit of pending runs is reached. */
  get isFull(): boolean {
    const { backlogMax = BACKLOG_MAX } = this.#parts;
    return this.backlog >= backlogMax || (this.#isPaced && this.pacer.room.isFull);
  }

  /** True while runs have fallen so far behind that launches should wait for some to end. */
  get isBehind(): boolean {
    return this.#share.holdsLaunches(this.backlog) ||
      (!this.#leads && this.#allowance?.isUsedUp === true);
  }

  /** Returns what the other instances are told of the runs here, each time anew. */
  load(): LeaderLoad {
    const ended = this.#share.takeEnded(this.backlog);
    return { isFull: this.isFull, ended, pace: this.pacer.room.told };
  }

  /** Looks for runs that other instances have accepted. Returns at once. */
  acceptedElsewhere(count: number): void {
    this.#unclaimed.accepted(count);
    this.#share.accepted(this.backlog, count);
    this.claim();
  }

  /**
   * Takes over what is pending. Call it once: before anything is accepted, or, where several instances share the
   * database, when this one leads.
   */
  async start(): Promise<void> {
    // Until it has taken up what is stored, it admits none: a claim would put later runs before those that wait.
    await this.pacer.start();
    this.#isStarting = true;
    await this.#claiming;
    for (const [id, run] of this.#held) if (run === undefined) this.#announcedBefore.add(id);
    this.#leads = true;
    this.#unclaimed.reset();
    const { store } = this.#parts;
    // What is accepted from now on comes behind these. Those of other instances have to be claimed first.
    const paced = store.shared ? undefined : await PacedEntries.begin(store);
    for await (const { id, triggerId, pending, versionstamp } of pendingEntries(store)) {
      // It is in memory, or another instance performs it. A claim finds those whose instance is gone.
      if (store.shared && pending?.own) continue;
      if (paced && pending?.pace) paced.add(pending, versionstamp);
      else if (store.shared && pending?.worker !== this.id) this.#unclaimed.accepted(1);
      else if (!this.#goneMeanwhile.has(id)) this.#pending.set(id, triggerId);
    }
    this.#isStarting = false;
    paced?.admit((pending) => this.#admit(pending, true));
    if (paced) this.pacer.armBursts();
    this.claim();
  }

  /** Tells whether a run that this instance is about to accept is its own: it performs it, and not the leader. */
  isOwn(of: Pick<PendingRun, "run" | "actions" | "pace">): boolean {
    const { store, canPerform } = this.#parts;
    return store.shared !== undefined && of.pace === undefined && canPerform?.(of) === true;
  }

  /** Announces a run that is about to be accepted for this worker, so that no listing takes it. */
  expect(runId: string, isOwn = false): void {
    this.#held.set(runId, undefined);
    this.#share.expect(1);
    if (!isOwn) this.#allowance?.take(1);
  }

  /** Takes back what was announced: the run was not accepted. */
  withdraw(runId: string, isOwn = false): void {
    this.#share.expect(-1);
    if (!isOwn) this.#allowance?.take(-1);
    this.#held.delete(runId);
    this.#announcedBefore.delete(runId);
    this.#pending.delete(runId);
    if (this.#claiming || this.#isStarting) this.#goneMeanwhile.add(runId);
  }

  /** Takes a run that was announced and is accepted now: in its turn. */
  take(pending: PendingRun): void {
    const { handsOver = true } = this.#parts;
    const hasPlace = this.#places.waiting < this.#heldMax && !this.#leavesSome;
    this.#share.expect(-1);
    if (!this.#leads && !pending.own) return void this.#held.delete(pending.run.id);
    if (pending.pace) return this.#takePaced(pending);
    this.#pending.set(pending.run.id, pending.run.trigger_id);
    this.#share.accepted(this.backlog);
    const repeated = this.#announcedBefore.delete(pending.run.id);
    if (hasPlace && handsOver) this.#hold(pending, repeated);
    else this.#held.delete(pending.run.id);
    if (handsOver) this.wake();
  }

  /** A run that has not ended, if it is in memory. */
  pendingRun(runId: string): Run | undefined {
    return this.#held.get(runId);
  }

  /** The ids of a trigger's runs that have not ended. */
  pendingOf(triggerId: string): string[] {
    const here = [...this.#pending].flatMap(([id, of]) => of === triggerId ? [id] : []);
    return [...here, ...this.pacer.idsOf(triggerId)];
  }

  /** Looks for pending runs that nobody has in memory. Returns at once. */
  claim(): void {
    if (this.#closing || this.#isStarting || (!this.#leads && !this.#leavesSome)) return;
    if (this.#claiming) return void (this.#claimAgain = true);
    this.#claiming = (this.#leads ? this.#claimPending() : this.#readOwn())
      .catch((error) => {
        log.error("Cannot claim pending runs, trying again: {error}", { error });
        this.#nextClaim.after(CLAIM_RETRY_MS, () => this.claim());
      })
      .finally(() => {
        this.#claiming = undefined;
        this.#goneMeanwhile.clear();
        // Begins runs without another search: it would leave what this one leaves.
        this.#places.begin();
        if (!this.#claimAgain) return;
        this.#claimAgain = false;
        this.claim();
      });
  }

  /**
   * Waits until a run has ended.
   *
   * @returns false when the signal aborted before
   */
  async ended(runId: string, signal: AbortSignal): Promise<boolean> {
    const hasEnded = async () => await getPending(this.#parts.store, runId) === undefined;
    // Where another instance performs it, its record tells.
    return !this.#parts.store.shared ||
        [this.#pending, this.#held, this.pacer].some((runs) => runs.has(runId))
      ? await this.#waiters.wait(runId, hasEnded, signal)
      : await pollUntil(hasEnded, this.#parts.clock, signal);
  }

  /**
   * Takes nothing more. Runs under way may end until the deadline; the others stay pending and are
   * taken over at the next start.
   */
  async close(deadline_ms: number): Promise<void> {
    this.#closing = true;
    this.#nextClaim.close();
    this.#places.close();
    await this.#claiming;
    await this.pacer.close();
    await this.#places.ended(deadline_ms);
    this.#abort.abort();
  }

  /** Starts as many runs as there are places, and looks for more when there is room. Returns at once. */
  wake(): void {
    this.#places.begin();
    if (this.#places.waiting >= this.#concurrency) return;
    if (this.#leavesSome || this.#unclaimed.isSome) this.claim();
  }

  /** True when pending runs are not in memory. Announced ones are, and are not pending yet. */
  get #leavesSome(): boolean {
    return this.#pending.size > this.#held.size - this.#share.expected;
  }

  /** Performs a run and stores its end. Never rejects. */
  async #perform(waiting: WaitingRun): Promise<void> {
    const performed = await performUntilFinal(waiting, this.#parts, this.#abort.signal);
    // An action that the stop cut off has no outcome: the run stays pending and is performed again.
    if (performed === undefined || this.#abort.signal.aborted) return;
    const ended = await this.#ends.store(waiting, performed);
    if (ended) this.#notifyEnd(ended);
  }

  /** Notifies those that wait for the end of a run, which is on disk. */
  #notifyEnd(run: Run): void {
    this.#pending.delete(run.id);
    this.#share.ended(this.backlog);
    this.#held.delete(run.id);
    this.#tellEnd(run);
  }

  #tellEnd(run: Run): void {
    if (this.#claiming || this.#isStarting) this.#goneMeanwhile.add(run.id);
    this.#waiters.notify(run.id);
    this.pacer.ended(run.id);
    try {
      this.#parts.onEnd?.(run);
    } catch (error) {
      log.error("Cannot report the end of run {run_id}: {error}", { run_id: run.id, error });
    }
  }

  /**
   * Takes over what nobody has in memory: the runs of processes that have ended, and, where several instances
   * share the database, those that others have accepted.
   */
  async #claimPending(): Promise<void> {
    const { store } = this.#parts;
    this.#unclaimed.beginPass();
    const claimed = store.shared && await Claims.begin(store, this.#met);
    const isPaced = this.#isPaced || store.shared === undefined;
    const paced = isPaced ? await PacedEntries.begin(store, this.pacer.room) : undefined;
    let [isMissed, isUndecided, isComplete] = [false, false, true];
    for await (const entry of pendingEntries(store)) {
      const room = this.#heldMax - Math.max(this.#places.waiting, claimed?.size ?? 0);
      isComplete = !this.#closing && room > 0;
      if (!isComplete) break;
      const { id, pending } = entry;
      if (this.#goneMeanwhile.has(id) || this.pacer.has(id)) continue;
      if (this.#held.has(id)) {
        if (!pending?.pace || this.#held.get(id)) continue;
        // Stored here and not answered yet: later ones wait for it.
        isUndecided = true;
        paced?.add(pending, entry.versionstamp);
        continue;
      }
      if (pending === undefined) {
        // The next look tries again where this one cannot.
        const ended = await this.#ends.storeDamaged(entry);
        if (ended) this.#notifyEnd(ended);
        continue;
      }
      const isOthers = claimed !== undefined && pending.worker !== this.id;
      if (isOthers && claimed.isElsewhere(pending)) continue;
      if (isOthers) claimed.add(entry, pending);
      if (pending.pace) {
        paced?.add(pending, entry.versionstamp);
        isMissed ||= paced === undefined;
      } else if (!isOthers) this.#holdClaimed(pending);
    }
    const found = await claimed?.commit() ?? [];
    const counted = found.filter(({ run, own }) => !own && !this.#pending.has(run.id)).length;
    for (const pending of found) if (!pending.pace) this.#holdClaimed(pending);
    const ours = new Set(found);
    const isOurs = (pending: PendingRun) =>
      ours.has(pending) || (pending.worker === this.id && !this.#held.has(pending.run.id));
    // A listing that was broken off may lack earlier ones.
    isMissed ||= isComplete && paced?.admit((each) => this.#admit(each, true), isOurs) === false;
    if (isComplete && !claimed?.isIncomplete && (paced || !isMissed)) this.pacer.armBursts();
    this.#isPaced ||= isMissed;
    if (isUndecided) this.#nextClaim.after(CLAIM_RETRY_MS, () => this.claim());
    else if (isMissed || claimed?.isIncomplete) this.#claimAgain = true;
    if (claimed) this.#unclaimed.endPass(counted, isComplete);
  }

  /** Reads runs of this instance's own again for which memory had no room. */
  async #readOwn(): Promise<void> {
    const room = Math.max(0, this.#heldMax - this.#places.waiting);
    const left = [...this.#pending].filter(([id]) => !this.#held.has(id)).slice(0, room);
    for (const [id, pending] of await readPending(this.#parts.store, left)) {
      if (pending) this.#holdClaimed(pending);
      // Its record is damaged: the leader ends it.
      else this.#pending.delete(id);
    }
  }

  #holdClaimed(pending: PendingRun): void {
    const { id, trigger_id } = pending.run;
    if (this.#held.has(id) || this.#goneMeanwhile.has(id)) return;
    this.#pending.set(id, trigger_id);
    // The worker before may have begun with it. With an instance's own run it is the leader before.
    this.#hold(pending, this.#parts.store.shared !== undefined || pending.worker !== this.id);
  }

  /** Takes a run that was accepted here and has a pace. */
  #takePaced(pending: PendingRun): void {
    if (this.#parts.store.shared === undefined) return this.#admit(pending, false);
    // Others may have accepted earlier ones.
    this.#held.delete(pending.run.id);
    this.#isPaced = true;
    this.claim();
  }

  #admit(pending: PendingRun, repeated: boolean): void {
    // A listing shows a launch of this instance that was withdrawn meanwhile.
    if (this.#goneMeanwhile.has(pending.run.id)) return;
    this.#held.delete(pending.run.id);
    this.#pending.delete(pending.run.id);
    this.pacer.admit(pending, repeated);
  }

  /** Performs a run whose turn has come. */
  #performPaced(pending: PendingRun, repeated: boolean): void {
    this.#pending.set(pending.run.id, pending.run.trigger_id);
    this.#share.accepted(this.backlog);
    if (this.#places.waiting < this.#heldMax) this.#hold(pending, repeated);
    this.wake();
  }

  #hold(pending: PendingRun, repeated: boolean): void {
    this.#held.set(pending.run.id, pending.run);
    this.#places.add({ ...pending, repeated });
  }
}
