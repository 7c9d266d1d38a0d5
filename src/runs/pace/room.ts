/**
 * The room for runs that wait for their turn.
 *
 * @module
 */
import { UnavailableError } from "../../platform/errors.ts";
import type { PaceLimit } from "../../store/records/held_runs.ts";
import type { Pace } from "../../store/records/pace.ts";
import { nameOf } from "./item.ts";
import type { KeyMap } from "./key_map.ts";
import type { WaitingRuns } from "./waiting_runs.ts";

const LIMITS: Readonly<Record<PaceLimit, number>> = {
  /** The most runs that wait. */
  runs: 200_000,
  /** The most of one trigger. */
  runs_of_trigger: 100_000,
  /** The most of one key that wait for a place. */
  runs_of_key: 10_000,
  /** The most keys of a trigger with an open burst, and as many with runs that wait or have work under way. */
  keys_of_trigger: 100_000,
};

const WHAT: Readonly<Record<PaceLimit, (max: number) => string>> = {
  runs: (max) => `${max} runs wait for their turn`,
  runs_of_trigger: (max) => `${max} runs of its trigger wait for their turn`,
  runs_of_key: (max) => `${max} runs of its concurrency key wait for a place`,
  keys_of_trigger: (max) => `its trigger has runs of ${max} keys, and this is another one`,
};
const RETRY_S = 60;

interface RoomParts {
  /** Lower limits than those of a service. */
  limits?: Partial<Record<PaceLimit, number>> | undefined;
  items: WaitingRuns;
  bursts: KeyMap<unknown>;
  lanes: KeyMap<{ readonly length: number }>;
  /** Called for each launch that finds no room. */
  onFull?: ((limit: PaceLimit) => void) | undefined;
}

/** Tells whether more runs may wait. */
export class Room {
  readonly #parts: RoomParts;
  readonly #limits: Readonly<Record<PaceLimit, number>>;
  /** Each is made once: many launches may get it. */
  readonly #errors = new Map<PaceLimit, UnavailableError>();

  constructor(parts: RoomParts) {
    this.#parts = parts;
    this.#limits = { ...LIMITS, ...parts.limits };
  }

  /** True when no more runs may wait. */
  get isFull(): boolean {
    return this.#parts.items.size >= this.#limits.runs;
  }

  /** Returns why a launch finds no room; undefined where it does. */
  obstacle(triggerId: string, pace: Pace): UnavailableError | undefined {
    const limit = this.#reached(triggerId, pace);
    if (limit === undefined) return undefined;
    this.#parts.onFull?.(limit);
    const known = this.#errors.get(limit);
    if (known) return known;
    const what = WHAT[limit](this.#limits[limit]);
    const error = new UnavailableError(`Cannot accept a launch: ${what}`, RETRY_S);
    this.#errors.set(limit, error);
    return error;
  }

  #reached(triggerId: string, { coalesce, concurrency }: Pace): PaceLimit | undefined {
    const { items, bursts, lanes } = this.#parts;
    const { runs_of_trigger, runs_of_key, keys_of_trigger } = this.#limits;
    if (this.isFull) return "runs";
    if (items.countOf(triggerId) >= runs_of_trigger) return "runs_of_trigger";
    for (const [keys, of] of [[bursts, coalesce], [lanes, concurrency]] as const) {
      if (of === undefined || keys.has(nameOf(triggerId, of.key))) continue;
      if (keys.countOf(triggerId) >= keys_of_trigger) return "keys_of_trigger";
    }
    if (concurrency?.when_full !== "queue") return undefined;
    const { length = 0 } = lanes.get(nameOf(triggerId, concurrency.key)) ?? {};
    return length >= runs_of_key ? "runs_of_key" : undefined;
  }
}
