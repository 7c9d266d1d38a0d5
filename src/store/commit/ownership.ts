/**
 * The ownership of a remote database. Quotas, deliveries and pending runs are decided in the memory of one
 * process, so one process at a time owns the database, and others stand by until it is gone.
 *
 * Each commit checks that its writer's previous one is still the latest, and increases the count. So a
 * process that was wrongly taken for gone stores nothing more, as with a fencing token (M. Kleppmann, "How to
 * do distributed locking", 2016). A commit that Deno sends again after a lost answer is neither stored twice
 * nor taken for a failure. Others judge an owner by the commits that they observe, not by clocks.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { type Clock, systemClock } from "../../platform/clock.ts";
import { ConflictError } from "../../platform/errors.ts";
import { every, pause, within } from "../../platform/waiting/timers.ts";
import type { Committer, Fence } from "./committer.ts";
import { keys } from "../keys.ts";

const LOOK_MS = 1_000;
const SIGN_MS = 3_000;
/** Time without a commit after which a process counts as gone. */
const GONE_MS = 15_000;
/** Time limit to release the database: requests to one that does not answer never end. */
const RELEASE_MS = 1_000;

const log = getLogger(["hooklaunch", "store"]);

export interface OwnershipOptions {
  /** Stands by while another process owns the database and is alive. */
  standsBy?: boolean;
  /** The id of the process. Default: a random one. */
  id?: string;
  /** Lets other instances accept launches. */
  shares?: boolean;
  clock?: Clock;
  look_ms?: number;
  sign_ms?: number;
  gone_ms?: number;
}

/** The record of the owner. */
export interface Owner {
  process: string;
  /** Set where other instances accept launches, too: the owner leads them. */
  shares?: true;
  /** By its own clock, for those who read logs. */
  since: string;
  /** Number of its commits. */
  commits: number;
}

/** The right to write to a remote database, as long as nobody else has taken it. */
export class Ownership implements Fence {
  readonly #kv: Deno.Kv;
  readonly #clock: Clock;
  readonly #sign_ms: number;
  readonly #lost = new AbortController();
  #owner: Owner;
  /** Of the owner's record, which each commit changes. */
  #versionstamp: string | null;
  /** Ends the signs of life. */
  #endSigns: (() => void) | undefined;

  private constructor(
    kv: Deno.Kv,
    { clock, owner, versionstamp, sign_ms }: {
      clock: Clock;
      owner: Owner;
      versionstamp: string | null;
      sign_ms: number;
    },
  ) {
    this.#kv = kv;
    this.#clock = clock;
    this.#owner = owner;
    this.#versionstamp = versionstamp;
    this.#sign_ms = sign_ms;
  }

  /**
   * Waits until the database is nobody else's, and takes it.
   *
   * @throws {ConflictError} when another process has it, and this one is not to stand by
   */
  static async take(kv: Deno.Kv, options: OwnershipOptions = {}): Promise<Ownership> {
    const { standsBy = true, clock = systemClock } = options;
    const { look_ms = LOOK_MS, sign_ms = SIGN_MS, gone_ms = GONE_MS } = options;
    const process = options.id ?? crypto.randomUUID();
    let seen: string | null | undefined;
    // Not by the clock: while nobody gets an answer, its owner is not seen to be alive either.
    for (let looks = 0;; looks++) {
      const owner = await kv.get<Owner>(keys.owner());
      const { value, versionstamp } = owner;
      if (value?.process === process) {
        return new Ownership(kv, { clock, owner: value, versionstamp, sign_ms });
      }
      if (versionstamp !== seen) {
        if (value !== null && seen === undefined) {
          log.info("Standing by: another process has the database since {since}", {
            since: value.since,
          });
        } else if (value !== null && !standsBy) {
          throw new ConflictError(
            "Cannot open the database: another Hooklaunch process is using it. Stop that one first",
          );
        }
        seen = versionstamp;
        looks = 0;
      }
      if (value === null || looks * look_ms >= gone_ms) {
        const since = new Date(clock.now()).toISOString();
        const shares = options.shares ? { shares: true as const } : {};
        const self: Owner = { process, since, ...shares, commits: 0 };
        // Who has it then is looked up: a commit that was sent twice may be told that it failed.
        await kv.atomic().check(owner).set(keys.owner(), self).commit();
      } else await pause(clock, look_ms);
    }
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

  guard(operation: Deno.AtomicOperation): void {
    const { commits, ...self } = this.#owner;
    this.#owner = { ...self, commits: commits + 1 };
    operation.check({ key: keys.owner(), versionstamp: this.#versionstamp })
      .set(keys.owner(), this.#owner);
  }

  async isStored(result: Deno.KvCommitResult | Deno.KvCommitError): Promise<boolean> {
    if (result.ok) {
      this.#versionstamp = result.versionstamp;
      return true;
    }
    // It may have been stored, and been sent once more because the answer was lost.
    const found = await this.#kv.get<Owner>(keys.owner());
    const { process, commits } = this.#owner;
    if (found.value?.process === process && found.value.commits === commits) {
      this.#versionstamp = found.versionstamp;
      return true;
    }
    if (!this.lost.aborted) {
      log.error("Another process has taken the database over: nothing can be stored any more");
      this.#lost.abort();
    }
    return false;
  }

  /** Lets another process take the database at once. Nothing may be under way. */
  async release(): Promise<void> {
    this.#endSigns?.();
    const owner = { key: keys.owner(), versionstamp: this.#versionstamp };
    const released = this.#kv.atomic().check(owner).delete(owner.key).commit();
    const ended = released.catch(() => {
      // The database does not answer: it is free when no commits are seen any more.
    });
    await within(this.#clock, RELEASE_MS, ended);
  }
}
