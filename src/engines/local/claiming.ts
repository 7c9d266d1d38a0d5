/**
 * Claiming executions that wait for a place on the leader's machine, where this machine has one. Whoever stores first
 * that an execution begins performs it.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../platform/clock.ts";
import { messageOf } from "../../platform/errors.ts";
import { pause } from "../../platform/waiting/timers.ts";
import type { Instances } from "../../store/commit/instances.ts";
import type { Execution } from "../../store/records/executions.ts";
import type { Reachability } from "./runners/reachability.ts";
import { runnerNameOf } from "./slots.ts";

/** Pause between two looks, which doubles while nothing is found that can begin here. */
const LOOK_MS = 250;
const LOOK_MAX_MS = 8_000;
/** The time for which the answer of a runner, or that there was none, is believed. */
const KNOWN_MS = 10_000;

const log = getLogger(["hooklaunch", "engine"]);

/** The parts of {@linkcode claimWaiting}. */
interface ClaimingParts {
  instances: Pick<Instances, "leader" | "obstacle">;
  clock: Clock;
  reachability: Pick<Reachability, "answers">;
  /** Returns the number of executions that this machine has a place for. */
  room(): number;
  /** Reads some of the waiting executions that are wanted, at most so many. */
  waiting(max: number, isWanted: (execution: Execution) => boolean): Promise<Execution[]>;
  /** Begins an execution: its first record is the claim. */
  begin(execution: Execution): void;
  /** Takes a function that is to be called when a place is free again. */
  onFreed(wake: () => void): void;
  /** Aborted when this instance leads, or stops. */
  signal: AbortSignal;
}

/** Begins executions that wait at the leader, until this instance leads. */
export async function claimWaiting(parts: ClaimingParts): Promise<void> {
  const { instances, clock, room, waiting, begin, onFreed, signal } = parts;
  const runners = new Runners(parts);
  let soon = new AbortController();
  onFreed(() => soon.abort());
  signal.addEventListener("abort", () => soon.abort(), { once: true });
  let pause_ms = LOOK_MS;
  while (!signal.aborted) {
    soon = new AbortController();
    const { leader, obstacle } = instances;
    const isAsked = leader?.executions_wait === true && obstacle === undefined;
    const max = isAsked ? room() : 0;
    try {
      let found = 0;
      const isWanted = (execution: Execution) => !runners.isSilent(execution);
      for (const execution of max > 0 ? await waiting(max, isWanted) : []) {
        if (!await runners.answers(execution) || signal.aborted) continue;
        found++;
        begin(execution);
      }
      pause_ms = max === 0 || found > 0 ? LOOK_MS : Math.min(2 * pause_ms, LOOK_MAX_MS);
    } catch (error) {
      pause_ms = Math.min(2 * pause_ms, LOOK_MAX_MS);
      log.error("Cannot claim executions that wait for the leader, trying again: {error}", {
        error: messageOf(error),
      });
    }
    await pause(clock, pause_ms, soon.signal);
  }
}

/** The runners of this machine that answer, and those that do not. An execution that has begun waits for its own. */
class Runners {
  readonly #parts: Pick<ClaimingParts, "clock" | "reachability">;
  readonly #known = new Map<string, { isSilent: boolean; until_ms: number }>();

  constructor(parts: Pick<ClaimingParts, "clock" | "reachability">) {
    this.#parts = parts;
  }

  isSilent(execution: Execution): boolean {
    return this.#of(execution)?.isSilent === true;
  }

  async answers(execution: Execution): Promise<boolean> {
    const known = this.#of(execution);
    if (known) return !known.isSilent;
    const { clock, reachability } = this.#parts;
    const runner = runnerNameOf(execution);
    const isSilent = !await reachability.answers(runner);
    this.#known.set(runner, { isSilent, until_ms: clock.steady() + KNOWN_MS });
    return !isSilent;
  }

  #of(execution: Execution): { isSilent: boolean } | undefined {
    const known = this.#known.get(runnerNameOf(execution));
    return known && this.#parts.clock.steady() < known.until_ms ? known : undefined;
  }
}
