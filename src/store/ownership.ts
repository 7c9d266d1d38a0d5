/**
 * Whose a remote database is. Quotas, deliveries and what is pending are decided in the memory of one
 * process, so one at a time has the database, and others stand by until it is gone.
 *
 * Each commit checks that the database is still its writer's, as with a fencing token (M. Kleppmann,
 * "How to do distributed locking", 2016): a process that was taken to be gone and is not stores nothing
 * any more. That it is gone is told by its signs of life as they are seen, whatever the clocks of two
 * machines say.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { ConflictError } from "../errors.ts";
import { pause } from "../pause.ts";
import { within } from "../within.ts";
import type { Committer } from "./committer.ts";
import { keys } from "./keys.ts";

const LOOK_MS = 1_000;
const SIGN_MS = 3_000;
/** How long no sign of life is seen of a process that is gone. */
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
}

/** The right to write to a remote database, as long as nobody else has taken it. */
export class Ownership {
  /** What each commit checks. */
  readonly check: Deno.AtomicCheck;
  readonly #kv: Deno.Kv;
  readonly #sign_ms: number;
  readonly #lost = new AbortController();
  #signs: ReturnType<typeof setInterval> | undefined;

  private constructor(kv: Deno.Kv, check: Deno.AtomicCheck, sign_ms: number) {
    this.#kv = kv;
    this.check = check;
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
    let seen: string | undefined;
    let seenAt_ms = 0;
    for (;;) {
      const [owner, sign] = await kv.getMany<[Owner, unknown]>([keys.owner(), keys.ownerSign()]);
      const { value, versionstamp } = owner;
      if (value?.process === process) {
        return new Ownership(kv, { key: keys.owner(), versionstamp }, sign_ms);
      }
      if (value !== null && seen === undefined) {
        log.info("Standing by: another process has the database since {since}", {
          since: value.since,
        });
      }
      const now = `${versionstamp} ${sign.versionstamp}`;
      if (now !== seen) {
        if (seen !== undefined && value !== null && !standsBy) {
          throw new ConflictError(
            "Cannot open the database: another Hooklaunch process is using it. Stop that one first",
          );
        }
        seen = now;
        seenAt_ms = performance.now();
      }
      if (value === null || performance.now() - seenAt_ms >= gone_ms) {
        // Who has it then is looked up: a commit that was sent twice may be told that it failed.
        const self: Owner = { process, since: new Date().toISOString() };
        await kv.atomic().check(owner).set(keys.owner(), self).commit();
      } else await pause(look_ms);
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

  /** Notes that a commit has failed its check. */
  lose(): void {
    if (this.lost.aborted) return;
    log.error("Another process has taken the database over: nothing can be stored any more");
    this.#lost.abort();
  }

  /** Lets another process take the database at once. */
  async release(): Promise<void> {
    clearInterval(this.#signs);
    const released = this.#kv.atomic().check(this.check).delete(this.check.key).commit();
    await within(
      RELEASE_MS,
      released.catch(() => {
        // The database is closed, or does not answer: it is free when no sign of life is seen any more.
      }),
    );
  }
}
