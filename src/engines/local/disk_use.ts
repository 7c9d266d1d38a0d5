/**
 * The limit of what an execution takes on disk. Measuring takes the longer the more files there are, so it
 * is done now and then, beside everything else, and as often as the limit is near.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import { diskLimit_mb } from "../../projects/code/size_guard.ts";
import type { Execution } from "../../store/records/executions.ts";
import type { RunContext } from "./run_context.ts";

/** Longest interval between measurements, as a multiple of the shortest. */
const INTERVALS_MAX = 6;
/** Share of the time that measuring may take: one part in this many. */
const SHARE = 20;

/** Returns the disk limit of an execution, in MiB. */
export function diskMbMax({ engine }: Pick<Execution, "engine">): number {
  return diskLimit_mb(engine);
}

interface DiskUseParts {
  clock: Clock;
  /** Shortest interval between measurements. */
  interval_ms: number;
  /** The limit, in MiB. */
  mb_max: number;
  /** Measures, in MiB. What it rejects with is ignored. */
  measure(signal: AbortSignal): Promise<number>;
}

/** Watches what one execution takes on disk. */
export class DiskUse {
  readonly #parts: DiskUseParts;
  readonly #closing = new AbortController();
  #measuring: Promise<void> | undefined;
  #next_ms: number;
  #last: { mb: number; at_ms: number };

  constructor(parts: DiskUseParts) {
    this.#parts = parts;
    const at_ms = parts.clock.steady();
    this.#last = { mb: 0, at_ms };
    this.#next_ms = at_ms + parts.interval_ms;
  }

  /** The limit, when it was found to be exceeded, as the reason for stopping. Begins to measure when it is time. */
  reached(): string | undefined {
    const { clock, mb_max } = this.#parts;
    if (this.#last.mb > mb_max) return `Stopped: disk use over ${mb_max} MiB`;
    if (clock.steady() >= this.#next_ms) this.#measuring ??= this.#measure();
    return undefined;
  }

  /** Ends what is being measured. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#measuring;
  }

  async #measure(): Promise<void> {
    const { clock, interval_ms, mb_max, measure } = this.#parts;
    const began_ms = clock.steady();
    const mb = await measure(this.#closing.signal).catch(() => this.#last.mb);
    const at_ms = clock.steady();
    // Half of the time after which the limit is reached if it goes on like this.
    const growth = (mb - this.#last.mb) / Math.max(1, at_ms - this.#last.at_ms);
    const near_ms = growth > 0 ? (mb_max - mb) / growth / 2 : Infinity;
    const pause_ms = Math.min(Math.max(interval_ms, near_ms), interval_ms * INTERVALS_MAX);
    this.#last = { mb, at_ms };
    this.#next_ms = at_ms + Math.max(pause_ms, (at_ms - began_ms) * SHARE);
    this.#measuring = undefined;
  }
}

/** Watches what an execution takes, up to the limit of its project's engine. */
export function diskUseOf(
  execution: Execution,
  { clock, settings }: Pick<RunContext, "clock" | "settings">,
  measure: DiskUseParts["measure"],
): DiskUse {
  return new DiskUse({
    clock,
    interval_ms: settings.disk_ms,
    mb_max: diskMbMax(execution),
    measure,
  });
}
