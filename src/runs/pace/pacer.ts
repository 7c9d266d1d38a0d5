/**
 * The turns of runs whose trigger has a pace: bursts that become one run, delays, and at most so many runs of a key
 * with work under way. The leader alone decides, in the order of acceptance. What is decided about the runs of a
 * trigger is stored in that order, and carried out once it is, so a start finds where the last one has stopped.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../platform/clock.ts";
import { newId } from "../../platform/ids.ts";
import {
  bursts,
  burstWrite,
  closeBurstWrite,
  endTurnWrite,
  heldRuns,
  type Turn,
  turns,
  turnWrite,
} from "../../store/records/held_runs.ts";
import type { Write } from "../../store/commit/change.ts";
import type { CoalescePace, ConcurrencyPace } from "../../store/records/pace.ts";
import { getRun, type PendingRun, type Run } from "../../store/records/runs.ts";
import type { Store } from "../../store/store.ts";
import { RunWork } from "../work_state.ts";
import { Alarms } from "../../platform/waiting/alarms.ts";
import { Decisions } from "./decisions.ts";
import { type Item, nameOf } from "./item.ts";
import { KeyMap } from "./key_map.ts";
import { Lane } from "./lane.ts";
import { OpenBurst } from "./open_burst.ts";
import { Room } from "./room.ts";
import { sweepEach } from "./sweep.ts";
import { type Waiting, waitingOf } from "./waiting.ts";
import { WaitingRuns } from "./waiting_runs.ts";

/** The interval at which all work that takes a place is looked at. */
const SWEEP_MS = 60_000;
/** The same where another instance may store the end of some work. */
const SHARED_SWEEP_MS = 5_000;

const log = getLogger(["hooklaunch", "runs"]);

/** The parts of a service that turns need. */
interface PacerParts {
  store: Store;
  clock: Clock;
  /** Performs a run whose turn has come; `repeated` where its actions may have begun before. */
  perform(pending: PendingRun, repeated: boolean): void;
  /** Called for each run that has ended without its turn, once that is on disk. */
  onEnd(run: Run): void;
  room: Pick<ConstructorParameters<typeof Room>[0], "limits" | "onFull">;
}

/** Decides on the turns of runs. */
export class Pacer {
  readonly #parts: PacerParts;
  readonly #abort = new AbortController();
  readonly #decisions: Decisions;
  /** The times at which bursts close, by their names. */
  readonly #closings: Alarms;
  /** The times until which runs wait, by their ids. */
  readonly #delays: Alarms;
  readonly #work: RunWork;
  readonly #items = new WaitingRuns();
  readonly #bursts = new KeyMap<OpenBurst>();
  /** The runs that bursts become, until their commit is answered: a listing may show them before. */
  readonly #becoming = new Set<string>();
  readonly #lanes = new KeyMap<Lane<Item>>();
  /** The room for runs that wait. */
  readonly room: Room;
  /** The runs whose work takes a place, by their ids. */
  readonly #turns = new Map<string, Turn>();
  #order = 0;
  #areArmed = false;
  #endSweeps = () => {};

  constructor(parts: PacerParts) {
    const { store, clock } = parts;
    this.#parts = parts;
    this.#decisions = new Decisions({
      store,
      clock,
      signal: this.#abort.signal,
      onGone: (item, ended) => {
        if (item) this.#items.delete(item);
        if (ended) parts.onEnd(ended);
      },
    });
    this.room = new Room({
      ...parts.room,
      items: this.#items,
      bursts: this.#bursts,
      lanes: this.#lanes,
      instances: store.shared?.instances,
    });
    this.#closings = new Alarms(clock, (name) => {
      const burst = this.#bursts.get(name);
      if (burst) this.#close(name, burst);
    });
    this.#delays = new Alarms(clock, (runId) => {
      const item = this.#items.get(runId);
      if (item) this.#queue(item, false);
    });
    this.#work = new RunWork({ store, clock });
  }

  /** Number of runs that wait for their turn. */
  get waiting(): number {
    return this.#items.size;
  }

  /** Tells whether a run waits for its turn, or is what a burst becomes. */
  has(runId: string): boolean {
    return this.#items.has(runId) || this.#becoming.has(runId);
  }

  /** The ids of a trigger's runs that wait. */
  idsOf(triggerId: string): string[] {
    return this.#items.idsOf(triggerId);
  }

  /** Returns what a run waits for; undefined where it does not wait here. */
  waitingOf(runId: string): Waiting | undefined {
    const item = this.#items.get(runId);
    if (item === undefined) return undefined;
    const [, burst] = this.#burstOf(item) ?? [];
    const { triggerId, pace: { concurrency } } = item;
    const lane = concurrency && this.#lanes.get(nameOf(triggerId, concurrency.key));
    return waitingOf(item, burst, lane);
  }

  /** Takes up what is stored. Call it once, before any run is admitted. */
  async start(): Promise<void> {
    const { store, clock } = this.#parts;
    // A burst whose record is damaged becomes no run: those that wait for it are performed by themselves.
    const isMade = new Map<string, boolean>();
    for await (const burst of bursts(store)) {
      this.#bursts.set(nameOf(burst.trigger_id, burst.key), new OpenBurst(burst));
      isMade.set(burst.run_id, true);
    }
    for await (const turn of turns(store)) this.#enter(turn);
    const held: [Item, joins: string | undefined][] = [];
    const stored = heldRuns(store, (key) => this.#decisions.endDamaged(key));
    for await (const { held: { order, joins }, ...record } of stored) {
      const item = this.#items.add(record, order);
      item.record = undefined;
      item.isHeld = true;
      if (joins !== undefined && !isMade.has(joins)) {
        isMade.set(joins, await getRun(store, joins) !== undefined);
      }
      held.push([item, isMade.get(joins ?? "") ? joins : undefined]);
    }
    // It was closed meanwhile.
    if (this.#abort.signal.aborted) return;
    held.sort(([one], [other]) => one.order - other.order);
    this.#order = (held.at(-1)?.[0].order ?? -1) + 1;
    for (const [item, joins] of held) this.#resume(item, joins);
    this.#endSweeps = sweepEach(clock, store.shared ? SHARED_SWEEP_MS : SWEEP_MS, {
      ids: () => this.#turns.keys(),
      look: (runId) => this.#free(runId),
    });
  }

  /** Lets bursts close that were open at the last stop. Call it once all that was accepted before is admitted. */
  armBursts(): void {
    if (this.#areArmed) return;
    this.#areArmed = true;
    for (const [name, burst] of this.#bursts) this.#arm(name, burst);
  }

  /** Takes a run that was accepted after all that were admitted before. */
  admit(record: PendingRun, repeated: boolean): void {
    const { id } = record.run;
    if (this.#items.has(id)) return;
    // Its turn had come before the last stop.
    if (this.#turns.has(id)) return this.#parts.perform(record, true);
    const item = this.#items.add(record, this.#order++);
    if (item.pace.coalesce) this.#join(item, item.pace.coalesce);
    else this.#delay(item, repeated);
  }

  /** Notes that a run has ended, or that work of it has. Returns at once. */
  ended(runId: string): void {
    void this.#free(runId);
  }

  async #free(runId: string): Promise<void> {
    const turn = this.#turns.get(runId);
    if (turn === undefined || this.#abort.signal.aborted) return;
    await this.#freeIfEnded(turn).catch((error) => {
      log.warn(
        "Cannot see whether the work of run {run_id} has ended, looking again later: {error}",
        { run_id: runId, error },
      );
    });
  }

  async #freeIfEnded(turn: Turn): Promise<void> {
    const { run_id: runId } = turn;
    const run = await getRun(this.#parts.store, runId);
    if (run !== undefined && await this.#work.stateOf(run) === "running") return;
    // Another call may have freed it meanwhile.
    if (this.#abort.signal.aborted || !this.#turns.delete(runId)) return;
    this.#decisions.write(turn.trigger_id, [endTurnWrite(runId)]);
    const name = nameOf(turn.trigger_id, turn.key);
    this.#lanes.get(name)?.leave(runId);
    this.#callNext(name);
  }

  /** Ends the wait of a run for its burst, or for a time. Returns false where it waits for neither. */
  hurry(runId: string): boolean {
    const item = this.#items.get(runId);
    if (item === undefined) return false;
    const [name, burst] = this.#burstOf(item) ?? [];
    if (name !== undefined && burst) this.#close(name, burst);
    else if (this.#delays.cancel(runId)) this.#queue(item, false);
    else return false;
    return true;
  }

  /** Ends a run that waits: each of its actions has the error. Returns false where it does not wait. */
  cancel(runId: string, error: string): boolean {
    const item = this.#items.get(runId);
    if (item === undefined || item.isDecided) return false;
    this.#forget(item);
    this.#decisions.fail(item, error);
    return true;
  }

  /** Resolves when all that was decided is stored. */
  settled(): Promise<void> {
    return this.#decisions.settled();
  }

  /** Decides nothing more. */
  async close(): Promise<void> {
    this.#abort.abort();
    this.#endSweeps();
    this.#closings.close();
    this.#delays.close();
    await this.#decisions.settled();
  }

  /** Goes on with a run that waited at the last stop. */
  #resume(item: Item, joins: string | undefined): void {
    const { coalesce } = item.pace;
    const burst = coalesce && this.#bursts.get(nameOf(item.triggerId, coalesce.key));
    if (burst && burst.run_id === (joins ?? item.id)) burst.add(item);
    // Its burst has closed: another run has its payload, or it is the one that is performed.
    else if (joins !== undefined) this.#decisions.supersede(item, joins);
    else this.#delay(item, false);
  }

  /** Joins the burst of a run's key, or opens one. */
  #join(item: Item, { key, keep, window_ms, wait_max_ms }: CoalescePace): void {
    const name = nameOf(item.triggerId, key);
    const open = this.#bursts.get(name);
    // Its trigger may have been changed, or none of its runs be left.
    const isOther = open?.keep !== keep;
    if (open && (isOther || (keep === "all" && !open.hasRoomFor(item)))) this.#close(name, open);
    const { created_ms: at_ms } = item;
    const burst = this.#bursts.get(name) ?? new OpenBurst({
      trigger_id: item.triggerId,
      key,
      run_id: keep === "all" ? newId(at_ms) : item.id,
      first_ms: at_ms,
      due_ms: 0,
    });
    this.#bursts.set(name, burst);
    const due_ms = Math.min(at_ms + window_ms, burst.first_ms + wait_max_ms);
    burst.due_ms = Math.max(burst.due_ms, due_ms);
    if (keep === "first" && !burst.isEmpty) {
      this.#decisions.supersede(item, burst.run_id, [burstWrite(burst)]);
    } else {
      if (keep !== "all") {
        for (const older of burst.items) {
          burst.remove(older);
          this.#decisions.supersede(older, item.id);
        }
        burst.run_id = item.id;
      }
      burst.add(item);
      this.#decisions.hold(item, {
        ...(keep === "all" && { joins: burst.run_id }),
        beside: [burstWrite(burst)],
      });
    }
    this.#arm(name, burst);
  }

  #arm(name: string, burst: OpenBurst): void {
    if (this.#areArmed) this.#closings.set(name, burst.due_ms);
  }

  /** Closes a burst: what it becomes goes on. */
  #close(name: string, burst: OpenBurst): void {
    this.#bursts.delete(name);
    this.#closings.cancel(name);
    if (burst.keep !== "all") {
      const [item] = burst.items;
      this.#decisions.write(burst.trigger_id, [closeBurstWrite(burst)]);
      if (item) this.#delay(item, false);
      return;
    }
    this.#becoming.add(burst.run_id);
    this.#decisions.join(burst, burst.items, (made) => {
      this.#becoming.delete(burst.run_id);
      if (made) this.admit(made, false);
    });
  }

  /** Lets a run wait until its time. */
  #delay(item: Item, repeated: boolean): void {
    if (item.due_ms <= this.#parts.clock.now()) return this.#queue(item, repeated);
    this.#decisions.hold(item);
    this.#delays.set(item.id, item.due_ms);
  }

  /** Lets a run wait for a place of its key. */
  #queue(item: Item, repeated: boolean): void {
    const { concurrency } = item.pace;
    if (concurrency === undefined) return this.#release(item, repeated);
    const name = nameOf(item.triggerId, concurrency.key);
    const lane = this.#lane(name);
    if (lane.hasPlace(concurrency.limit)) return this.#giveTurn(item, concurrency, repeated);
    const [working = ""] = lane.working;
    if (concurrency.when_full === "refuse") {
      const skipped = { status: "completed" as const, skipped_by: working };
      return this.#decisions.end(item, (run) => ({ ...run, ...skipped }));
    }
    if (concurrency.when_full === "newest") {
      for (const older of lane.takeWaiting()) this.#decisions.supersede(older, item.id);
    }
    lane.add(item);
    this.room.queued(name);
    this.#decisions.hold(item);
    this.#callNext(name);
  }

  /** Gives places to the next runs of a key. */
  #callNext(name: string): void {
    const lane = this.#lanes.get(name);
    while (lane?.next?.pace.concurrency) {
      const { next } = lane;
      const { concurrency } = next.pace;
      if (concurrency === undefined || lane.working.length >= concurrency.limit) return;
      lane.remove(next);
      this.#giveTurn(next, concurrency, false);
    }
    if (lane?.isEmpty) this.#lanes.delete(name);
  }

  #giveTurn(item: Item, { key }: ConcurrencyPace, repeated: boolean): void {
    const turn = { run_id: item.id, trigger_id: item.triggerId, key };
    this.#enter(turn);
    this.#release(item, repeated, [turnWrite(turn)]);
  }

  #release(item: Item, repeated: boolean, taken: Write[] = []): void {
    this.#decisions.release(item, taken, (pending) => {
      if (pending) this.#parts.perform(pending, repeated);
      else this.ended(item.id);
    });
  }

  #enter(turn: Turn): void {
    this.#turns.set(turn.run_id, turn);
    this.#lane(nameOf(turn.trigger_id, turn.key)).enter(turn.run_id);
  }

  #lane(name: string): Lane<Item> {
    return this.#lanes.getOrInsertComputed(name, () => new Lane<Item>());
  }

  /** Takes a run off everything that it waits for. */
  #forget(item: Item): void {
    const [name, burst] = this.#burstOf(item) ?? [];
    if (name !== undefined && burst) {
      burst.remove(item);
      if (burst.isEmpty) this.#close(name, burst);
    }
    this.#delays.cancel(item.id);
    const { concurrency } = item.pace;
    const lane = concurrency && nameOf(item.triggerId, concurrency.key);
    if (lane === undefined) return;
    this.#lanes.get(lane)?.remove(item);
    this.#callNext(lane);
  }

  #burstOf(item: Item): [name: string, burst: OpenBurst] | undefined {
    if (item.pace.coalesce === undefined) return undefined;
    const name = nameOf(item.triggerId, item.pace.coalesce.key);
    const burst = this.#bursts.get(name);
    return burst?.has(item) ? [name, burst] : undefined;
  }
}
