/**
 * A chain of commits to a database that several processes use. Each commit checks that the one before it is
 * the latest, and names itself in the chain's record by a random id.
 *
 * A commit can end with an error although it is stored, be sent twice, or arrive after its sender has given
 * it up. So its end is read from the record, and never guessed: while it is not known, the chain takes no
 * other commit. A look alone proves nothing, as the commit may arrive after it. A fencing commit decides: it
 * changes the record, so that the one before it fails its check whenever it arrives.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../platform/clock.ts";
import { messageOf, UnavailableError } from "../../platform/errors.ts";
import { pause } from "../../platform/waiting/timers.ts";
import { TimedCalls } from "./timed_calls.ts";

/** The pause after the first look that fails; it doubles with each. */
const RETRY_MS = 20;
const RETRY_MS_MAX = 1_000;

const log = getLogger(["hooklaunch", "store"]);

/** The service has stopped before it was known whether a commit is stored. It may be, or arrive later. */
export class UndecidedError extends UnavailableError {
  constructor() {
    super("Cannot store: the service stops, and the database does not tell what is stored", 1);
  }
}

/** A chain's record as it is stored. */
export type Linked<T> = T & {
  /** The random id of the commit that has written it. */
  commit: string;
};

/** The parts of a {@linkcode CommitChain}. */
interface ChainParts<T> {
  kv: Deno.Kv;
  clock: Clock;
  key: Deno.KvKey;
  /** The time after which what is not answered is given up, and decided on another connection. */
  answer_ms?: number | undefined;
  /** Returns false when the chain has been taken away. */
  isOwn(found: Linked<T> | null): boolean;
}

/**
 * The end of a commit: its versionstamp; or `refused`: it is not stored, and never will be, since something
 * that it checks has changed; or `lost`: the chain has been taken away, and takes no commit any more.
 */
type CommitEnd = { versionstamp: string } | "refused" | "lost";

/** Stores commits, one after the other. */
export class CommitChain<T extends object> {
  readonly #parts: ChainParts<T>;
  readonly #closing = new AbortController();
  readonly #calls: TimedCalls;
  #record: T;
  #versionstamp: string | null;

  /** @param versionstamp of the record as it is stored */
  constructor(parts: ChainParts<T>, record: T, versionstamp: string | null) {
    this.#parts = parts;
    this.#calls = new TimedCalls(parts.clock, parts.answer_ms, this.#closing.signal);
    this.#record = record;
    this.#versionstamp = versionstamp;
  }

  /** The record as it was stored last. */
  get record(): T {
    return this.#record;
  }

  /** Of the record as it was stored last. */
  get versionstamp(): string | null {
    return this.#versionstamp;
  }

  /**
   * Stores an operation with the chain's next record. Resolves when its end is known. Call it for one operation
   * at a time.
   *
   * @throws {UndecidedError} when the chain is closed before
   * @throws {unknown} the error of a commit that is not stored, and never will be
   */
  async commit(operation: Deno.AtomicOperation, record: T): Promise<CommitEnd> {
    const { key } = this.#parts;
    const next = linked(record);
    operation.check({ key, versionstamp: this.#versionstamp }).set(key, next);
    let failure: { error: unknown } | undefined;
    try {
      const result = await this.#calls.call(() => operation.commit());
      if (result.ok) return this.#stored(next, result.versionstamp);
    } catch (error) {
      failure = { error };
    }
    const end = await this.#decide(next, failure);
    if (end === "refused" && failure !== undefined) throw failure.error;
    return end;
  }

  /** Waits for no commit any more whose end is not known. */
  close(): void {
    this.#closing.abort();
  }

  /**
   * Finds out how a commit has ended that was answered with an error, or as one whose checks fail. The latter
   * may have been stored when it was sent first, before its answer was lost.
   */
  async #decide(sent: Linked<T>, failure: { error: unknown } | undefined): Promise<CommitEnd> {
    const { clock } = this.#parts;
    const { signal } = this.#closing;
    let mayArrive = failure !== undefined;
    for (let tries = 0;; tries++) {
      if (signal.aborted) throw new UndecidedError();
      try {
        const end = mayArrive && await this.#fence() ? "refused" : await this.#look(sent);
        if (tries > 0) log.info("What the database has stored is known again");
        return end;
      } catch (error) {
        if (tries === 0) {
          log.error("Cannot tell whether a commit is stored, looking again: {error}", {
            error: messageOf(error),
          });
        }
        mayArrive = true;
        await pause(clock, Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** tries), signal);
      }
    }
  }

  /**
   * Changes the record, so that what was sent before cannot be stored any more.
   *
   * @returns false when the record had changed before
   */
  async #fence(): Promise<boolean> {
    const { kv, key } = this.#parts;
    const next = linked(this.#record);
    const operation = kv.atomic().check({ key, versionstamp: this.#versionstamp }).set(key, next);
    const result = await this.#calls.call(() => operation.commit());
    if (result.ok) this.#stored(next, result.versionstamp);
    return result.ok;
  }

  /** Reads whose commit is the latest. */
  async #look(sent: Linked<T>): Promise<CommitEnd> {
    const { kv, key, isOwn } = this.#parts;
    const { value, versionstamp } = await this.#calls.call(() => kv.get<Linked<T>>(key));
    if (!isOwn(value) || value === null || versionstamp === null) return "lost";
    this.#stored(value, versionstamp);
    return value.commit === sent.commit ? { versionstamp } : "refused";
  }

  #stored(record: T, versionstamp: string): CommitEnd {
    this.#record = record;
    this.#versionstamp = versionstamp;
    return { versionstamp };
  }
}

function linked<T extends object>(record: T): Linked<T> {
  return { ...record, commit: crypto.randomUUID() };
}
