/**
 * The world of a simulation: one database, virtual time, and processes that can crash, freeze and fail between
 * any two of their calls. A scheduler of fast-check decides which call goes on next.
 *
 * @module
 */
import type fc from "fast-check";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../src/platform/clock.ts";
import { MemoryDatabase, MemoryKv, type SentCommit } from "./memory_kv.ts";
import type { CallEnd, PlannedFault } from "./plan.ts";

const START_MS = Date.UTC(2026, 0, 1);
/** The time that a call of the database takes. */
const CALL_MS = 1;
/** The longest step of the clock while calls are under way. */
const STEP_MS = 250;
/** The random delay with which Deno KV delivers a message, 0 to 100 ms. */
const MESSAGE_MS = 50;

interface Timer {
  at_ms: number;
  owner: SimProcess | undefined;
  call(): void;
}

/** What is read and checked by commits, by which an instance learns what is stored. */
const COMMITTING = /^(lane|meta\/owner|instance|claimed|ledger)\b/;

/** Deliberate defects: a simulation must find each of them. */
export type Defect =
  | "lost undo"
  | "window not restored"
  | "unchecked commit"
  | "unchecked ledger"
  | "commits that are not fenced off"
  | OwnDefect
  | PaceDefect;

/** Those of runs that are their instances' own. */
export type OwnDefect =
  | "end without the lanes"
  | "own run claimed"
  | "own run of a gone instance left";

/** Those of paces and schedules. */
export type PaceDefect =
  | "order by receipt"
  | "limit outside the commit"
  | "window that restarts"
  | "occurrence at two instances"
  | "superseded run that starts"
  | "retry that doubles";

/** Waits until all code that can run without a scheduled call has run. */
export async function settled(): Promise<void> {
  await setImmediate();
}

/** The world. */
export class World {
  readonly database = new MemoryDatabase();
  /** A remote database, which several processes may use, and whose answers may be lost. */
  readonly isRemote: boolean;
  readonly defect: Defect | undefined;
  readonly #scheduler: fc.Scheduler;
  readonly #timers = new Set<Timer>();
  /** Messages of the queue that no process has received. */
  readonly messages: unknown[] = [];
  now_ms = START_MS;
  /** Number of commits that will arrive late. */
  late = 0;
  #isCalm = false;

  constructor(
    scheduler: fc.Scheduler,
    { isRemote, defect }: { isRemote: boolean; defect?: Defect | undefined },
  ) {
    this.#scheduler = scheduler;
    this.isRemote = isRemote;
    this.defect = defect;
    this.#letTimePass();
  }

  /** Resolves when the scheduler lets this call go on. */
  turn(label: string): Promise<void> {
    return this.#scheduler.schedule(Promise.resolve(), label);
  }

  /** Calls a function after a time. A dead process is not called, a frozen one once it goes on. */
  after(delay_ms: number, call: () => void, owner?: SimProcess): () => void {
    const timer = { at_ms: this.now_ms + Math.max(0, delay_ms), owner, call };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Waits for a time of the world. */
  delay(delay_ms: number): Promise<void> {
    return new Promise((resolve) => this.after(delay_ms, resolve));
  }

  /** Lets one call or one step of the clock happen. Time can pass while calls are under way. */
  async step(): Promise<void> {
    await this.#scheduler.waitNext(1);
  }

  /** Lets all calls end. From now on time passes only when none is under way. */
  async calm(): Promise<void> {
    this.#isCalm = true;
    await this.#scheduler.waitIdle();
  }

  /** Lets all calls end, and then the next timer fire. Call {@linkcode calm} first. */
  async rest(): Promise<void> {
    this.#fireNext(Infinity);
    await settled();
    await this.#scheduler.waitIdle();
  }

  #letTimePass(): void {
    void this.turn("time").then(() => {
      if (this.#isCalm) return;
      this.#letTimePass();
      this.#fireNext(STEP_MS);
    });
  }

  /** Moves the clock to the next timer, by a step at most, and fires that timer. */
  #fireNext(step_ms: number): void {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (next === undefined || timer.at_ms < next.at_ms) next = timer;
    }
    const until_ms = this.now_ms + step_ms;
    if (next === undefined || next.at_ms > until_ms) {
      if (Number.isFinite(until_ms)) this.now_ms = until_ms;
      return;
    }
    this.now_ms = Math.max(this.now_ms, next.at_ms);
    this.#timers.delete(next);
    const { owner, call } = next;
    if (owner === undefined) call();
    else void owner.gate().then(call);
  }
}

/** A process on a machine. A new start of the service is another one. */
export class SimProcess {
  readonly name: string;
  readonly world: World;
  /** The next commits fail, as on a full disk. */
  failing = 0;
  /** The answers of the next commits are lost, so they are sent again. */
  losing = 0;
  /** How the next calls end by which it commits. */
  outage: (Pick<PlannedFault, "isOfLane" | "late_ms" | "ends"> & { lane?: string }) | undefined;
  readonly #died = Promise.withResolvers<void>();
  readonly #stopListening = Promise.withResolvers<void>();
  #isDead = false;
  #thaw: PromiseWithResolvers<void> | undefined;
  #onMessage: ((message: unknown) => Promise<void>) | undefined;

  /** How far the clock of its machine is ahead of the world's time. */
  readonly skew_ms: number;
  /** The sum of its jumps. Its steady clock does not jump. */
  jump_ms = 0;

  constructor(world: World, name: string, skew_ms: number) {
    this.skew_ms = skew_ms;
    this.world = world;
    this.name = name;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Resolves when the process is dead. */
  get died(): Promise<void> {
    return this.#died.promise;
  }

  /** The process does nothing any more. What it has sent to a remote database still arrives. */
  kill(): void {
    this.#isDead = true;
    this.#onMessage = undefined;
    this.#died.resolve();
  }

  /** The process does nothing for a time. */
  freeze(time_ms: number): void {
    this.#thaw ??= Promise.withResolvers();
    this.world.after(time_ms, () => this.thaw());
  }

  thaw(): void {
    this.#thaw?.resolve();
    this.#thaw = undefined;
  }

  /** Resolves while the process runs; never when it is dead. */
  async gate(): Promise<void> {
    while (this.#thaw) await this.#thaw.promise;
    if (this.#isDead) await new Promise(() => {});
  }

  /** The clock of its machine. */
  readonly clock: Clock = {
    now: () => Math.floor(this.world.now_ms + this.skew_ms + this.jump_ms),
    steady: () => this.world.now_ms + this.skew_ms,
    after: (delay_ms, call) => this.world.after(delay_ms, call, this),
  };

  /** Connects to the world's database. */
  connect(): Deno.Kv {
    const { database, isRemote } = this.world;
    const call = async <T>(label: string, execute: () => T): Promise<T> => {
      await this.world.turn(`${this.name} ${label}`);
      // A file is read by the process itself.
      const end = isRemote ? this.#endOf([label.replace(/^get /, "")]) : "ok";
      if (!isRemote) await this.gate();
      else if (hasNoAnswer(end)) await new Promise(() => {});
      else if (end !== "ok") {
        await this.world.turn(`${this.name} ${label}: error`);
        await this.gate();
        throw new TypeError("the connection broke");
      }
      const result = execute();
      this.world.now_ms += CALL_MS;
      await this.world.turn(`${this.name} ${label}: answer`);
      await this.gate();
      return result;
    };
    const send = isRemote
      ? (commit: SentCommit) => this.#sendRemote(commit)
      : (commit: SentCommit) =>
        call("commit", () => this.#commitToFile(commit)).then((end) => end());
    return Object.assign(new MemoryKv(database, call, send), {
      listenQueue: (handler: (message: unknown) => Promise<void>) => this.#listen(handler),
      close: () => this.#stopListening.resolve(),
    }).kv;
  }

  /** How a call ends that reads or checks these keys. */
  #endOf(keys: readonly string[]): CallEnd {
    const { outage } = this;
    const lane = keys.find((key) => key.startsWith("lane/"));
    if (outage === undefined || !keys.some((key) => COMMITTING.test(key))) return "ok";
    if (outage.isOfLane && lane === undefined) return "ok";
    if (outage.isOfLane && lane !== (outage.lane ??= lane ?? "")) return "ok";
    return outage.ends.shift() ?? "ok";
  }

  #commitToFile(commit: SentCommit): () => Deno.KvCommitResult | Deno.KvCommitError {
    if (this.failing > 0) {
      this.failing--;
      return () => {
        throw new TypeError("database or disk is full");
      };
    }
    const result = this.world.database.commit(commit);
    for (const message of commit.messages) {
      this.world.messages.push(message);
      this.world.after(MESSAGE_MS, () => this.#deliver(), this);
    }
    return () => result;
  }

  /** Sends a commit until it is answered, as Deno does. One that got lost may arrive later. */
  async #sendRemote(commit: SentCommit): Promise<Deno.KvCommitResult | Deno.KvCommitError> {
    const { world } = this;
    const isChecked = ({ key }: Deno.AtomicCheck) =>
      world.defect !== "unchecked commit" &&
      (world.defect !== "unchecked ledger" || key[0] !== "ledger");
    const sent = { ...commit, checks: commit.checks.filter(isChecked) };
    for (;;) {
      await world.turn(`${this.name} commit`);
      const end = this.#endOf(commit.checks.map(({ key }) => key.join("/")));
      if (end !== "ok") return await this.#fail(sent, end);
      if (world.defect === "commits that are not fenced off" && isFencing(commit)) {
        const versionstamp = commit.checks[0]?.versionstamp ?? "";
        return { ok: true, versionstamp };
      }
      const result = world.database.commit(sent);
      world.now_ms += CALL_MS;
      const isLost = this.losing > 0;
      if (isLost) {
        this.losing--;
        void world.turn(`${this.name} late commit`).then(() => world.database.commit(sent));
      }
      await world.turn(`${this.name} commit: ${isLost ? "no answer" : "answer"}`);
      await this.gate();
      if (!isLost) return result;
    }
  }

  /** Ends a commit with an error, or never. It is stored before, later, or not at all. */
  async #fail(commit: SentCommit, end: Exclude<CallEnd, "ok">): Promise<never> {
    const { world, outage: { late_ms } = { late_ms: 0 } } = this;
    if (end === "lost" || end === "unanswered") world.database.commit(commit);
    if (hasNoAnswer(end)) await new Promise(() => {});
    if (end === "late") {
      world.late++;
      world.after(late_ms, () => {
        void world.turn(`${this.name} late commit`).then(() => {
          world.late--;
          world.database.commit(commit);
        });
      });
    }
    world.now_ms += CALL_MS;
    await world.turn(`${this.name} commit: error`);
    await this.gate();
    throw new TypeError("the connection broke");
  }

  async #listen(handler: (message: unknown) => Promise<void>): Promise<void> {
    this.#onMessage = handler;
    this.world.after(MESSAGE_MS, () => this.#deliver(), this);
    await this.#stopListening.promise;
    this.#onMessage = undefined;
  }

  #deliver(): void {
    if (this.#onMessage === undefined) return;
    for (const message of this.world.messages.splice(0)) void this.#onMessage(message);
  }
}

function hasNoAnswer(end: CallEnd): boolean {
  return end === "swallowed" || end === "unanswered";
}

/** True for a commit that only changes the record of a lane, so that one before it is not stored any more. */
function isFencing({ mutations }: SentCommit): boolean {
  return mutations.length === 1 && mutations[0]?.key[0] === "lane";
}
