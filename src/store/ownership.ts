/**
 * Whose a remote database is. Quotas, deliveries and what is pending are decided in the memory of one
 * process, so one at a time has the database, and others stand by until it is gone.
 *
 * Each commit checks that its writer's last one is still the last there is, and counts itself. So a
 * process that was taken to be gone and is not stores nothing any more, as with a fencing token (M.
 * Kleppmann, "How to do distributed locking", 2016); and a commit that Deno sends again, because the
 * answer was lost, is neither stored twice nor taken for one that failed. That a process is gone is told
 * by its commits as they are seen, whatever the clocks of two machines say.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { deadline } from "@std/async/deadline";
import { delay } from "@std/async/delay";
import { ignoreTimeout } from "../platform/waiting/ignore_timeout.ts";
import { ConflictError } from "../platform/errors.ts";
import type { Committer, Fence } from "./committer.ts";
import { keys } from "./keys.ts";

const LOOK_MS = 1_000;
const SIGN_MS = 3_000;
/** How long no commit is seen of a process that is gone. */
const GONE_MS = 15_000;
/** How long giving the database back may take: a database that does not answer is asked for ever. */
const RELEASE_MS = 1_000;

const log = getLogger(["hooklaunch", "store"]);

/** How a database is taken. */
export interface OwnershipOptions {
  /** Whether to stand by as long as another process has it, and is alive. */
  standsBy?: boolean;
  look_ms?: number;
  sign_ms?: number;
  gone_ms?: number;
}

/** Who has the database. */
interface Owner {
  process: string;
  /** By its own clock, for those who read logs. */
  since: string;
  /** How many times it has committed. */
  commits: number;
}

/** The right to write to a remote database, as long as nobody else has taken it. */
export class Ownership implements Fence {
  readonly #kv: Deno.Kv;
  readonly #sign_ms: number;
  readonly #lost = new AbortController();
  #owner: Owner;
  /** Of the owner's record, which each commit changes. */
  #versionstamp: string | null;
  #signs: ReturnType<typeof setInterval> | undefined;

  private constructor(
    kv: Deno.Kv,
    { owner, versionstamp, sign_ms }: {
      owner: Owner;
      versionstamp: string | null;
      sign_ms: number;
    },
  ) {
    this.#kv = kv;
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
    const { standsBy = true, look_ms = LOOK_MS, sign_ms = SIGN_MS, gone_ms = GONE_MS } = options;
    const process = crypto.randomUUID();
    let seen: string | null | undefined;
    // Not by the clock: while nobody gets an answer, its owner is not seen to be alive either.
    for (let looks = 0;; looks++) {
      const owner = await kv.get<Owner>(keys.owner());
      const { value, versionstamp } = owner;
      if (value?.process === process) {
        return new Ownership(kv, { owner: value, versionstamp, sign_ms });
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
        const self: Owner = { process, since: new Date().toISOString(), commits: 0 };
        // Who has it then is looked up: a commit that was sent twice may be told that it failed.
        await kv.atomic().check(owner).set(keys.owner(), self).commit();
      } else await delay(look_ms);
    }
  }

  /** Aborted once another process has the database. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Shows now and then that this process is alive, until it gives the database back. */
  showAlive(committer: Committer): void {
    this.#signs = setInterval(() => {
      committer.write([{ key: keys.ownerSign(), value: crypto.randomUUID() }]).catch((error) => {
        if (!this.lost.aborted) log.error("Cannot show a sign of life: {error}", { error });
      });
    }, this.#sign_ms);
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
    clearInterval(this.#signs);
    const owner = { key: keys.owner(), versionstamp: this.#versionstamp };
    const released = this.#kv.atomic().check(owner).delete(owner.key).commit();
    await deadline(
      released.catch(() => {
        // The database does not answer: it is free when no commits are seen any more.
      }),
      RELEASE_MS,
    ).catch(ignoreTimeout);
  }
}
