/**
 * Decisions that are stored one after the other, those of each trigger in their order.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../platform/clock.ts";
import { messageOf } from "../../platform/errors.ts";
import { pause } from "../../platform/waiting/timers.ts";
import type { Write } from "../../store/commit/change.ts";
import type { Committer } from "../../store/commit/committer.ts";

/** The most writes that one commit takes together; a decision is never split. */
const WRITES_MAX = 200;
const BYTES_MAX = 256 * 1024;
const RETRY_MS = 1_000;
/** Stored decisions that are taken off together. */
const TAKEN_MAX = 1_024;

const log = getLogger(["hooklaunch", "runs"]);

/** A decision. */
interface Step {
  /** The ids of the runs whose records it changes. */
  readonly of?: readonly string[];
  /** Set where `writes` reads what is stored of these runs. */
  readonly reads?: boolean;
  /** Returns what stores it, once all before it is stored; it may be asked again after a failure. */
  writes(): readonly Write[] | Promise<readonly Write[]>;
  /** Called once it is on disk. */
  stored?(): void;
}

interface StepsParts {
  committer: Pick<Committer, "write">;
  clock: Clock;
  signal: AbortSignal;
}

/** The decisions that are to be stored. */
export class Steps {
  readonly #parts: StepsParts;
  readonly #waiting = new Map<string, Step[]>();
  readonly #storing = new Set<Promise<void>>();

  constructor(parts: StepsParts) {
    this.#parts = parts;
  }

  /** Adds a decision about a trigger's runs. */
  add(triggerId: string, step: Step): void {
    const waiting = this.#waiting.get(triggerId);
    if (waiting !== undefined) return void waiting.push(step);
    this.#waiting.set(triggerId, [step]);
    const storing: Promise<void> = this.#store(triggerId)
      .finally(() => this.#storing.delete(storing));
    this.#storing.add(storing);
  }

  /** Resolves when nothing is being stored. */
  async settled(): Promise<void> {
    while (this.#storing.size > 0) await Promise.all(this.#storing);
  }

  async #store(triggerId: string): Promise<void> {
    const waiting = this.#waiting.get(triggerId) ?? [];
    // What comes in the same turn of the event loop is stored together.
    await Promise.resolve();
    let first = 0;
    while (first < waiting.length && !this.#parts.signal.aborted) {
      const end = first + await this.#storeSome(waiting, first);
      for (; first < end; first++) waiting[first]?.stored?.();
      // Taking each off at once takes a time that grows with the square of how many wait.
      if (first >= TAKEN_MAX) {
        waiting.splice(0, first);
        first = 0;
      }
    }
    this.#waiting.delete(triggerId);
  }

  /** Stores decisions from one on; returns how many. */
  async #storeSome(waiting: readonly Step[], first: number): Promise<number> {
    const { committer, clock, signal } = this.#parts;
    try {
      const writes: Write[] = [];
      const changed = new Set<string>();
      const removed = new Set<string>();
      let bytes = 0;
      let count = 0;
      for (let step = waiting[first]; step; step = waiting[first + count]) {
        const { of = [], reads } = step;
        // What it reads may be what those before it write.
        if (reads && of.some((id) => changed.has(id))) break;
        const some = await step.writes();
        // One commit removes a burst, and another one makes it anew: so each is stored, also one of no time.
        if (some.some(({ key, value }) => value !== undefined && removed.has(nameOf(key)))) break;
        for (const { key, value } of some) if (value === undefined) removed.add(nameOf(key));
        writes.push(...some);
        for (const id of of) changed.add(id);
        bytes += some.reduce((sum, write) => sum + (write.bytes ?? 1_024), 0);
        count++;
        if (writes.length >= WRITES_MAX || bytes >= BYTES_MAX) break;
      }
      if (writes.length > 0) await committer.write(lastOfEach(writes));
      return count;
    } catch (error) {
      log.error("Cannot store the turns of runs, trying again: {error}", {
        error: messageOf(error),
      });
      await pause(clock, RETRY_MS, signal);
      return 0;
    }
  }
}

/** Returns the last write of each key, in their order. */
function lastOfEach(writes: readonly Write[]): Write[] {
  const last = new Map<string, Write>();
  for (const write of writes) {
    const name = nameOf(write.key);
    last.delete(name);
    last.set(name, write);
  }
  return [...last.values()];
}

/** A key's parts are texts and bytes. */
function nameOf(key: Deno.KvKey): string {
  return key.join(" ");
}
