/**
 * Watching a command that runs: takes in what it prints, minds its limits, and ends it when asked.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import type { Capture } from "./capture.ts";
import { readExitCode } from "./control_files.ts";
import type { DiskUse } from "./disk_use.ts";
import { type Ending, failure } from "../shared/execution_end.ts";
import type { Limits } from "../shared/limits.ts";
import type { CommandHandle } from "./runners/runner.ts";
import type { StopCondition } from "../shared/stop_condition.ts";
import type { WorkFolder } from "./work_folder.ts";

/** The time for what a command has left running to end, which it is told to. */
const DRAIN_MS = 1_000;
/** The time for the captures to take in what was printed, when nothing holds them any more. */
const CAPTURE_MS = 60_000;
/** Interval of metadata updates while it changes. */
const METADATA_MS = 5_000;

export interface WatchParts {
  command: CommandHandle;
  /** True when it may have run for some time. */
  isFound: boolean;
  folder: WorkFolder;
  capture: Capture;
  limits: Limits;
  disk: DiskUse;
  stopCondition: StopCondition;
  clock: Clock;
  /** Interval of the checks of output and limits. */
  poll_ms: number;
  /** Time that the command gets to end after SIGTERM. */
  grace_ms: number;
  /** A limit is reached, or its stop condition holds. Told once. */
  onReached(ending: Ending): Promise<void>;
  /** There is new metadata. */
  onMetadata(): Promise<void>;
}

/** Watches one command. */
export class Watch {
  readonly #parts: WatchParts;
  #isDetached = false;
  #isReached = false;
  /** True once the leader was seen to end. */
  #isLeaderOver = false;
  /** When SIGKILL follows. */
  #kill_ms = Infinity;
  /** When the captures are killed, too. */
  #captures_ms = Infinity;
  /** The error of a failed signal. */
  #untold: unknown;
  /** Number of metadata changes at the last update, and its time. */
  #toldChanges = 0;
  #metadata_ms: number;
  #wake: () => void = () => {};

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#metadata_ms = parts.clock.steady();
    // Once: each time that somebody waits for it takes memory until it is over.
    const end = () => {
      this.#isLeaderOver = true;
      this.#wake();
    };
    parts.command.over.then(end, end);
  }

  /** Resolves when the command has ended, to true; or when it is let go, to false. */
  async untilOver(): Promise<boolean> {
    const { command, isFound, folder, capture, limits, clock, grace_ms } = this.#parts;
    let isDraining = false;
    // There is nothing to see yet of a command that has just been started.
    if (!isFound) await this.#pause();
    while (!await command.isOver(this.#kill_ms < Infinity)) {
      if (this.#untold !== undefined) throw this.#untold;
      if (this.#isDetached) {
        command.release();
        return false;
      }
      // What is beyond the limit is not seen, so silence says nothing then.
      if (await capture.pump() || capture.isCut) limits.sawOutput();
      // What has ended by itself was in time, however late this is, as after a pause of the whole process.
      const hasExited = readExitCode(folder) !== undefined;
      const reached = this.#isReached || hasExited ? undefined : this.#reached();
      if (reached !== undefined) {
        this.#isReached = true;
        await this.#parts.onReached(reached);
      }
      // What was told to end has its time for that, whichever of its processes is the first to.
      if (this.#kill_ms === Infinity && hasExited) {
        isDraining = true;
        this.#kill_ms = clock.steady() + DRAIN_MS;
      }
      const now_ms = clock.steady();
      if (now_ms >= this.#kill_ms) {
        this.#kill_ms = now_ms + (isDraining ? DRAIN_MS : grace_ms);
        if (!isDraining) await capture.logEvent("The command did not end by itself: it is killed");
        if (hasExited) this.#captures_ms = Math.min(this.#captures_ms, now_ms + CAPTURE_MS);
        if (hasExited && now_ms < this.#captures_ms) await command.endRest();
        else await command.signal("KILL");
      }
      await this.#tellMetadata();
      await this.#pause();
    }
    return true;
  }

  /** Sends SIGTERM to all its processes, and SIGKILL when they have not ended after the grace period. */
  async end(): Promise<void> {
    const { command, clock, grace_ms } = this.#parts;
    if (this.#kill_ms < Infinity || await command.isOver(true)) return;
    this.#kill_ms = clock.steady() + grace_ms;
    try {
      await command.signal("TERM");
    } catch (error) {
      this.#untold = error;
      throw error;
    } finally {
      this.#wake();
    }
  }

  /** Leaves the command to itself. */
  detach(): void {
    this.#isDetached = true;
    this.#wake();
  }

  /** The end that a reached limit or condition demands. */
  #reached(): Ending | undefined {
    const { limits, disk, stopCondition } = this.#parts;
    const limit = limits.reached() ?? disk.reached();
    if (limit !== undefined) return failure(limit);
    const condition = stopCondition.reached();
    return condition === undefined ? undefined : { status: "stopped", reason: condition };
  }

  async #tellMetadata(): Promise<void> {
    const { capture, clock, onMetadata } = this.#parts;
    const { changes } = capture.metadata;
    const now_ms = clock.steady();
    if (changes === this.#toldChanges || now_ms - this.#metadata_ms < METADATA_MS) return;
    this.#toldChanges = changes;
    this.#metadata_ms = now_ms;
    await onMetadata();
  }

  async #pause(): Promise<void> {
    const { limits, clock, poll_ms } = this.#parts;
    const kill_ms = this.#kill_ms - clock.steady();
    const limit_ms = this.#isReached ? Infinity : limits.remaining_ms();
    const woken = new Promise<void>((resolve) => this.#wake = resolve);
    // Either may have come just before there was somebody to wake.
    if (this.#isDetached || this.#isLeaderOver) {
      this.#isLeaderOver = false;
      return;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const time = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, Math.max(1, Math.min(poll_ms, kill_ms, limit_ms)));
    });
    await Promise.race([woken, time]);
    clearTimeout(timer);
  }
}
