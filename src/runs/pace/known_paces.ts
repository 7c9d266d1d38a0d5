/**
 * The paces of runs that wait: thousands wait with the same, which is one object for all of them.
 *
 * @module
 */
import type { Pace } from "../../store/records/pace.ts";

/** The trigger and the pace of runs, without the time of each. */
export interface KnownPace {
  readonly triggerId: string;
  readonly pace: Omit<Pace, "due_ms">;
  readonly name: string;
  /** Number of the runs that wait with it. */
  runs: number;
}

/** The paces of the runs that wait. */
export class KnownPaces {
  readonly #known = new Map<string, KnownPace>();

  /** Returns a pace for one more run. */
  take(triggerId: string, { due_ms: _due, ...pace }: Pace): KnownPace {
    const name = `${triggerId} ${JSON.stringify(pace)}`;
    const known = this.#known.get(name) ?? { triggerId, pace, name, runs: 0 };
    if (known.runs++ === 0) this.#known.set(name, known);
    return known;
  }

  /** Notes that a run waits no more. */
  leave(known: KnownPace): void {
    if (--known.runs === 0) this.#known.delete(known.name);
  }
}
