/**
 * The limits of an execution's time.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import type { Execution } from "../../store/records/executions.ts";

/** Longest delay of a timer. A time limit may be longer. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** By what an execution's time is measured. */
interface TimeParts {
  clock: Clock;
  /** When it started, by the steady clock. */
  started_ms: number;
  /** Time without output before watching begins. Default 0. */
  idle_ms?: number;
}

/** When an execution that an earlier service has started did so, by the steady clock of this one. */
export function startedBefore_ms({ started_at, created_at }: Execution, clock: Clock): number {
  const age_ms = clock.now() - Date.parse(started_at ?? created_at);
  return clock.steady() - Math.max(0, age_ms);
}

/** Watches how long an execution runs and how long it is silent. */
export class Limits {
  readonly #execution: Execution;
  readonly #clock: Clock;
  readonly #started_ms: number;
  #printed_ms: number;

  constructor(execution: Execution, { clock, started_ms, idle_ms = 0 }: TimeParts) {
    this.#execution = execution;
    this.#clock = clock;
    this.#started_ms = started_ms;
    this.#printed_ms = clock.steady() - Math.max(0, idle_ms);
  }

  /** Says that something was printed. */
  sawOutput(): void {
    this.#printed_ms = this.#clock.steady();
  }

  /** The limit that is reached, as the reason for stopping. */
  reached(): string | undefined {
    const { time_limit, no_output_timeout } = this.#execution;
    const now_ms = this.#clock.steady();
    if (time_limit !== undefined && now_ms - this.#started_ms >= time_limit * 1_000) {
      return `Stopped: time limit of ${time_limit} s reached`;
    }
    if (
      no_output_timeout !== undefined && now_ms - this.#printed_ms >= no_output_timeout * 1_000
    ) {
      return `Stopped: no output for ${no_output_timeout} s`;
    }
    return undefined;
  }

  /** Milliseconds until a limit may be reached. */
  remaining_ms(): number {
    const { time_limit = Infinity, no_output_timeout = Infinity } = this.#execution;
    const next_ms = Math.min(
      this.#started_ms + time_limit * 1_000,
      this.#printed_ms + no_output_timeout * 1_000,
    );
    return Math.max(0, next_ms - this.#clock.steady());
  }
}

/**
 * Does what comes before an execution's command, whose time limit counts for that, too.
 *
 * @param onLimit told once when the time is up before that is done
 */
export async function withTimeLimit<T>(
  execution: Execution,
  parts: TimeParts,
  work: () => Promise<T>,
  onLimit: (reason: string) => void,
): Promise<T> {
  // What has not begun prints nothing.
  const { no_output_timeout: _silence, ...timed } = execution;
  if (timed.time_limit === undefined) return await work();
  const limits = new Limits(timed, parts);
  const look = () => {
    const reason = limits.reached();
    if (reason !== undefined) onLimit(reason);
    else timer = setTimeout(look, Math.min(TIMER_MAX_MS, Math.max(1, limits.remaining_ms())));
  };
  let timer = setTimeout(look, 0);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
