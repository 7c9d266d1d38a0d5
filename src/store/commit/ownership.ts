/**
 * The ownership of a remote database. Quotas, deliveries and pending runs are decided in the memory of one
 * process, so one process at a time owns the database, and others stand by until it is gone.
 *
 * Each commit checks that its writer's previous one is still the latest: a {@linkcode CommitChain}. So a
 * process that was wrongly taken for gone stores nothing more, as with a fencing token (M. Kleppmann, "How to
 * do distributed locking", 2016). A commit whose answer is lost is neither stored twice nor taken for a
 * failure, nor for another process's. Others judge an owner by the commits that they observe, not by clocks.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { type Clock, systemClock } from "../../platform/clock.ts";
import { ConflictError, messageOf, UnavailableError } from "../../platform/errors.ts";
import { every, pause, within } from "../../platform/waiting/timers.ts";
import { CommitChain, type Linked } from "./commit_chain.ts";
import type { Committer, Fence } from "./committer.ts";
import { removeLaneWrites } from "./lane_records.ts";
import { keys } from "../keys.ts";
import { TimedCalls } from "./timed_calls.ts";

const LOOK_MS = 1_000;
const SIGN_MS = 3_000;
/** Time without a commit after which a process counts as gone. */
const GONE_MS = 15_000;
/** Time without an answer after which a commit is given up. Another process, if there is one, has the database before. */
const ANSWER_MS = 20_000;
/** Time limit to release the database: requests to one that does not answer never end. */
const RELEASE_MS = 1_000;
/** Pause before the release is tried again. */
const RETRY_MS = 50;

const log = getLogger(["hooklaunch", "store"]);

export interface OwnershipOptions {
  /** Stands by while another process owns the database and is alive. */
  standsBy?: boolean;
  /** The id of the process. Default: a random one. */
  id?: string;
  /** Lets other instances accept launches. */
  shares?: boolean;
  /** Stands by no longer once it aborts. */
  signal?: AbortSignal;
  clock?: Clock;
  look_ms?: number;
  sign_ms?: number;
  gone_ms?: number;
  answer_ms?: number;
}

/** The record of the owner. */
export interface Owner {
  process: string;
  /** Set where other instances accept launches, too: the owner leads them. */
  shares?: true;
  /** By its own clock, for those who read logs. */
  since: string;
}

/** The right to write to a remote database, as long as nobody else has taken it. */
export class Ownership implements Fence {
  readonly #kv: Deno.Kv;
  readonly #clock: Clock;
  readonly #sign_ms: number;
  readonly #lost = new AbortController();
  readonly #isOwn: (found: Owner | null) => boolean;
  readonly #chain: CommitChain<Owner>;
  /** Ends the signs of life. */
  #endSigns: (() => void) | undefined;

  private constructor(
    kv: Deno.Kv,
    { clock, owner, versionstamp, sign_ms, answer_ms }: {
      clock: Clock;
      owner: Owner;
      versionstamp: string | null;
      sign_ms: number;
      answer_ms: number;
    },
  ) {
    this.#kv = kv;
    this.#clock = clock;
    this.#sign_ms = sign_ms;
    this.#isOwn = (found) => found?.process === owner.process;
    const parts = { kv, clock, key: keys.owner(), answer_ms, isOwn: this.#isOwn };
    this.#chain = new CommitChain(parts, owner, versionstamp);
  }

  /**
   * Waits until the database is nobody else's, and takes it.
   *
   * @throws {ConflictError} when another process has it, and this one is not to stand by
   * @throws {UnavailableError} when the signal aborts
   */
  static async take(kv: Deno.Kv, options: OwnershipOptions = {}): Promise<Ownership> {
    const { standsBy = true, clock = systemClock, signal } = options;
    const { look_ms = LOOK_MS, sign_ms = SIGN_MS, gone_ms = GONE_MS } = options;
    const calls = new TimedCalls(clock, options.answer_ms);
    const process = options.id ?? crypto.randomUUID();
    let seen: string | null | undefined;
    // Not by the clock: while nobody gets an answer, its owner is not seen to be alive either.
    let looks = 0;
    while (!signal?.aborted) {
      try {
        const owner = await calls.call(() => kv.get<Owner>(keys.owner()));
        const { value, versionstamp } = owner;
        if (value?.process === process) {
          const { answer_ms = ANSWER_MS } = options;
          return new Ownership(kv, { clock, owner: value, versionstamp, sign_ms, answer_ms });
        }
        if (versionstamp !== seen) {
          if (value !== null) noteOwner(value, { isFirst: seen === undefined, standsBy });
          seen = versionstamp;
          looks = 0;
        }
        if (value === null || looks++ * look_ms >= gone_ms) {
          const since = new Date(clock.now()).toISOString();
          const self: Owner = { process, since, ...options.shares ? { shares: true } : {} };
          const operation = kv.atomic().check(owner).set(keys.owner(), self);
          // The one before has other ways to store what this one is about to read.
          const lanes = value === null ? [] : removeLaneWrites(value.process);
          for (const { key } of lanes) operation.delete(key);
          // Who has it then is looked up: a commit that was sent twice may be told that it failed.
          await calls.call(() => operation.commit());
          continue;
        }
      } catch (error) {
        if (seen === undefined || error instanceof ConflictError) throw error;
        // What was sent may be stored, or arrive later: the next look tells.
        log.error("Cannot take the database, looking again: {error}", { error: messageOf(error) });
      }
      await pause(clock, look_ms, signal);
    }
    throw new UnavailableError("Cannot take the database: the service stops", 1);
  }

  /** Aborted once another process has the database. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Shows now and then that this process is alive, until it gives the database back. */
  showAlive(committer: Committer): void {
    this.#endSigns = every(this.#clock, this.#sign_ms, () => {
      committer.write([{ key: keys.ownerSign(), value: crypto.randomUUID() }]).catch((error) => {
        if (!this.lost.aborted) log.error("Cannot show a sign of life: {error}", { error });
      });
    });
  }

  async commit(operation: Deno.AtomicOperation): Promise<boolean> {
    const end = await this.#chain.commit(operation, this.#chain.record);
    if (typeof end === "object") return true;
    if (end === "lost" && !this.lost.aborted) {
      log.error("Another process has taken the database over: nothing can be stored any more");
      this.#lost.abort();
    }
    return false;
  }

  /**
   * Lets another process take the database at once. What is under way is stored before, or never, and nobody
   * waits for it any more.
   */
  async release(): Promise<void> {
    this.#endSigns?.();
    this.#chain.close();
    const ending = new AbortController();
    await within(this.#clock, RELEASE_MS, this.#giveBack(ending.signal));
    ending.abort();
  }

  /** Removes the owner's record. When the database does not answer, others see no commits any more. */
  async #giveBack(signal: AbortSignal): Promise<void> {
    let { versionstamp } = this.#chain;
    while (!signal.aborted) {
      try {
        const key = keys.owner();
        const released = await this.#kv.atomic().check({ key, versionstamp }).delete(key).commit();
        if (released.ok) return;
        // A commit whose end was not known may have been stored.
        const found = await this.#kv.get<Linked<Owner>>(key);
        if (!this.#isOwn(found.value)) return;
        versionstamp = found.versionstamp;
      } catch {
        await pause(this.#clock, RETRY_MS, signal);
      }
    }
  }
}

/** Notes another process that has the database. */
function noteOwner(
  { since }: Owner,
  { isFirst, standsBy }: { isFirst: boolean; standsBy: boolean },
): void {
  if (isFirst) log.info("Standing by: another process has the database since {since}", { since });
  else if (!standsBy) {
    throw new ConflictError(
      "Cannot open the database: another Hooklaunch process is using it. Stop that one first",
    );
  }
}
