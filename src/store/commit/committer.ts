/**
 * Group commit. A commit of Deno KV costs one fsync whatever it holds, so what is to be written while
 * a commit is under way waits and then goes into the next one, together.
 *
 * No key expires by itself: on a full disk Deno KV ends the process when it cannot remove one ("KV
 * collect expired failed").
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { nextTick } from "node:process";
import { type Clock, systemClock } from "../../platform/clock.ts";
import { messageOf, UnavailableError } from "../../platform/errors.ts";
import { BatchSize } from "./batch_size.ts";
import type { Change, Write } from "./change.ts";
import type { DatabaseGuard } from "../file/database_guard.ts";
import { WrittenKeys } from "./written_keys.ts";

/** Writes of one commit where they may be split. */
const PART_SIZE = 100;
/** Limit of waiting changes. Further ones are turned away. */
const WAITING_MAX = 16_384;
/** Time after a commit during which the database counts as storing. */
const RECENT_MS = 1_000;
/** Delay before a withdrawal that could not be stored is tried again. */
const WITHDRAWAL_RETRY_MS = 1_000;

/** The error of a change that nobody waits for. */
export const ABANDONED = new UnavailableError("Cannot store: the sender does not wait any more", 1);

const log = getLogger(["hooklaunch", "store"]);

interface Waiting {
  change: Change;
  resolve(): void;
  reject(reason: unknown): void;
}

interface Prepared extends Waiting {
  list: readonly Write[];
}

/** The events of a committer. */
export interface CommitterEvents {
  /** A batch was stored: how many changes it held and how long it took. */
  onCommit?(changes: number, duration_ms: number): void;
  /** Changes are decided again, since another instance was faster. */
  onConflict?(changes: number): void;
}

/** Keeps all but one of several processes from storing anything. */
export interface Fence {
  /**
   * Stores an operation. Resolves when its end is known: to false when this process may store nothing any more.
   *
   * @throws {unknown} the error of an operation that is not stored, and never will be
   */
  commit(operation: Deno.AtomicOperation): Promise<boolean>;
}

/** Wakes the worker by a message in the commit that stores its work. */
export interface MessageSender {
  /** Adds a message to a commit, if one is needed; returns whether it did. */
  send(operation: Deno.AtomicOperation): boolean;
  /** Notes whether the commit with the message is stored. */
  settle(isStored: boolean): void;
}

/**
 * Stores launches, and what no other instance writes. Where several instances share the database, each has its
 * own.
 */
export interface Intake {
  /** Number of changes that wait for a commit. */
  readonly waiting: number;
  /** Number of changes that the database could not store, and might have stored at another time. */
  readonly failures: number;
  /**
   * Stores a change. The promise resolves when it is on disk.
   *
   * @throws {UnavailableError} when it cannot be stored, or nobody waited for it
   */
  commit(change: Change): Promise<void>;
  /** Stores writes that depend on nothing in memory. */
  write(writes: readonly Write[]): Promise<void>;
  /** Stores writes that need not be stored together. */
  writeInParts(writes: readonly Write[]): Promise<void>;
}

/** The parts of a committer that a database may lack. */
interface CommitterOptions {
  clock?: Clock;
  events?: CommitterEvents;
  fence?: Fence | undefined;
  guard?: DatabaseGuard | undefined;
  queue?: MessageSender | undefined;
}

/** Stores changes in batches, in the order in which they come. */
export class Committer implements Intake {
  readonly #kv: Deno.Kv;
  readonly #clock: Clock;
  readonly #events: CommitterEvents;
  readonly #fence: Fence | undefined;
  readonly #guard: DatabaseGuard | undefined;
  readonly #queue: MessageSender | undefined;
  readonly #writeListeners = new Set<(key: Deno.KvKey) => void>();
  /** Cancel the timers of withdrawals that could not be stored. */
  readonly #retries = new Set<() => void>();
  #waiting: Waiting[] = [];
  #running = false;
  #failures = 0;
  /** When the database last took what it was given, unless it has refused something since. */
  #stored_ms = -Infinity;
  #underWay: Promise<void> = Promise.resolve();
  #idle: Promise<void> = Promise.resolve();

  constructor(
    kv: Deno.Kv,
    { clock = systemClock, events = {}, fence, guard, queue }: CommitterOptions = {},
  ) {
    this.#kv = kv;
    this.#clock = clock;
    this.#events = events;
    this.#fence = fence;
    this.#guard = guard;
    this.#queue = queue;
  }

  /** Number of changes that wait for a commit. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Number of changes that the database could not store, and might have stored at another time. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * Resolves to true when the latest commit was stored within the last second. Waits for a commit that is
   * under way. Without a recent commit it resolves to false.
   */
  async isStoring(): Promise<boolean> {
    await this.settled();
    return this.#clock.steady() - this.#stored_ms < RECENT_MS;
  }

  /** Resolves when the commit under way has ended and its callers know. */
  settled(): Promise<void> {
    return this.#underWay;
  }

  /**
   * Stores a change. The promise resolves when it is on disk.
   *
   * @throws {UnavailableError} when too many changes wait already, the database cannot store it, or nobody
   * waited for it: once it is withdrawn if it was stored
   */
  commit(change: Change): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX) {
      this.#failures++;
      return Promise.reject(new UnavailableError("Cannot store: too many changes wait", 1));
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ change, resolve, reject });
    this.#begin();
    return promise;
  }

  /** Stores writes that depend on nothing in memory. */
  write(writes: readonly Write[]): Promise<void> {
    return this.commit({ writes: () => writes });
  }

  /**
   * Stores writes that need not be stored together, in their order and in parts of a size that lets
   * others in between.
   */
  async writeInParts(writes: readonly Write[]): Promise<void> {
    for (let start = 0; start < writes.length; start += PART_SIZE) {
      await this.write(writes.slice(start, start + PART_SIZE));
    }
  }

  /**
   * Takes down the keys of a kind that are written from now on, until that is disposed of. A change that
   * asks it in its `writes` learns whether what was read since then is still so.
   *
   * @param kind the first part of the keys
   */
  watch(kind: string): WrittenKeys {
    const listener = (key: Deno.KvKey) => written.add(key);
    const written = new WrittenKeys(kind, () => void this.#writeListeners.delete(listener));
    this.onWrite(listener);
    return written;
  }

  /**
   * Calls a listener with each key that is about to be written, and once more when it was: what was read in
   * between may be what was there before, as a remote database need not answer in order.
   */
  onWrite(listener: (key: Deno.KvKey) => void): void {
    this.#writeListeners.add(listener);
  }

  /** Resolves when nothing waits any more. Call it before the database is closed. */
  async drain(): Promise<void> {
    while (this.#running) await this.#idle;
    for (const cancel of this.#retries) cancel();
  }

  #begin(): void {
    if (this.#running) return;
    this.#running = true;
    this.#idle = this.#run();
  }

  async #run(): Promise<void> {
    // Lets what else this turn of the event loop brings join the first batch, however many promises it
    // has to wait for.
    await new Promise<void>((resolve) => nextTick(resolve));
    while (this.#waiting.length > 0) {
      const batch = this.#take();
      if (batch.length > 0) await (this.#underWay = this.#store(batch));
    }
    this.#running = false;
  }

  /** Takes as many waiting changes as one atomic operation holds, at least one. */
  #take(): Prepared[] {
    const batch: Prepared[] = [];
    const size = new BatchSize();
    let taken = 0;
    for (const waiting of this.#waiting) {
      if (size.isFull) break;
      if (waiting.change.isAbandoned?.()) {
        taken++;
        waiting.reject(ABANDONED);
        continue;
      }
      let list: readonly Write[];
      try {
        list = waiting.change.writes();
      } catch (error) {
        taken++;
        waiting.reject(error);
        continue;
      }
      if (!size.add(list)) {
        waiting.change.undo?.();
        break;
      }
      taken++;
      batch.push({ ...waiting, list });
      this.#notify(list);
    }
    this.#waiting = this.#waiting.slice(taken);
    return batch;
  }

  async #store(batch: readonly Prepared[]): Promise<void> {
    const started = this.#clock.steady();
    try {
      await this.#atomic(batch);
    } catch (error) {
      for (const { change } of batch.toReversed()) change.undo?.();
      // One value that the database refuses must not take the others down with it.
      if (batch.length > 1 && isRefusedValue(error)) return await this.#storeEach(batch);
      this.#fail(batch, error);
      return;
    }
    this.#stored(batch, started);
  }

  #notify(list: readonly Write[]): void {
    for (const listener of this.#writeListeners) for (const { key } of list) listener(key);
  }

  async #storeEach(batch: readonly Prepared[]): Promise<void> {
    for (const waiting of batch) {
      const started = this.#clock.steady();
      let list: readonly Write[];
      try {
        list = waiting.change.writes();
        this.#notify(list);
      } catch (error) {
        waiting.reject(error);
        continue;
      }
      try {
        await this.#atomic([{ ...waiting, list }]);
      } catch (error) {
        waiting.change.undo?.();
        this.#fail([waiting], error);
        continue;
      }
      this.#stored([{ ...waiting, list }], started);
    }
  }

  #fail(batch: readonly Waiting[], error: unknown): void {
    this.#guard?.note(error);
    const reason = asUnavailable(error);
    if (reason instanceof UnavailableError) {
      this.#failures += batch.length;
      this.#stored_ms = -Infinity;
    }
    for (const waiting of batch) waiting.reject(reason);
  }

  #stored(batch: readonly Prepared[], started: number): void {
    // What writes nothing was decided without the database, and shows nothing of it.
    const changes = batch.reduce((count, { list }) => count + Number(list.length > 0), 0);
    if (changes > 0) this.#stored_ms = this.#clock.steady();
    for (const { change, list, resolve, reject } of batch) {
      if (list.length > 0 && change.withdrawal && change.isAbandoned?.()) {
        this.#withdraw(change.withdrawal, reject);
      } else resolve();
    }
    if (changes === 0) return;
    try {
      this.#events.onCommit?.(changes, this.#clock.steady() - started);
    } catch (error) {
      log.error("Cannot report the end of a commit: {error}", { error });
    }
  }

  /** Stores a withdrawal with the next commit, before anything else. Tries until it is stored. */
  #withdraw(withdrawal: Change, abandon: (reason: unknown) => void): void {
    const again = (reason: unknown) => {
      log.error("Cannot withdraw a launch whose sender has gone, trying again: {error}", {
        error: messageOf(reason),
      });
      const cancel = this.#clock.after(WITHDRAWAL_RETRY_MS, () => {
        this.#retries.delete(cancel);
        this.#withdraw(withdrawal, abandon);
        this.#begin();
      });
      this.#retries.add(cancel);
    };
    this.#waiting.unshift({
      change: withdrawal,
      resolve: () => abandon(ABANDONED),
      reject: again,
    });
  }

  async #atomic(batch: readonly Prepared[]): Promise<void> {
    const operation = this.#kv.atomic();
    const shared = new Map<string, Write>();
    let count = 0;
    for (const { list } of batch) {
      for (const write of list) {
        if (write.sharedAs === undefined) {
          apply(operation, write);
          count++;
        } else shared.set(write.sharedAs, write);
      }
    }
    for (const write of shared.values()) apply(operation, write);
    if (count + shared.size === 0) return;
    this.#guard?.expectUsable();
    const leavesWork = batch.some(({ change, list }) => change.wakes === true && list.length > 0);
    const isWaking = leavesWork && this.#queue?.send(operation) === true;
    let isStored = false;
    try {
      isStored = this.#fence ? await this.#fence.commit(operation) : (await operation.commit()).ok;
    } finally {
      if (isWaking) this.#queue?.settle(isStored);
      // A listener that came while it was under way may have read what was there before.
      for (const { list } of batch) this.#notify(list);
    }
    if (!isStored) throw new UnavailableError("another process has the database", 5);
    this.#guard?.expectIntact();
  }
}

/** Adds a write to an operation. */
export function apply(operation: Deno.AtomicOperation, { key, value }: Write): void {
  if (value === undefined) operation.delete(key);
  else operation.set(key, value);
}

/**
 * Returns true for the error of a value or a key over Deno KV's limits: a TypeError that only its text tells
 * apart.
 */
export function isRefusedValue(error: unknown): boolean {
  return /too large|too many|could not be cloned|cannot be empty|\bexpected/i.test(
    messageOf(error),
  );
}

/** Returns the error of a commit, or of what is read before it, as its callers get it. */
export function asUnavailable(error: unknown): Error {
  if (error instanceof UnavailableError && error.message.startsWith("Cannot")) return error;
  if (isRefusedValue(error) && error instanceof Error) return error;
  return new UnavailableError(`Cannot store: ${messageOf(error)}`, 5, { cause: error });
}
