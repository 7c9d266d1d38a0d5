/**
 * The room for runs that wait for their turn.
 *
 * The leader counts them. With each beat it tells the other instances which triggers and keys are full, and up to
 * which commit it has counted. So another instance accepts of a trigger that is not full as many as it may accept
 * beyond that commit, and no more: the limits hold but for so many of each other instance.
 *
 * @module
 */
import { hash } from "node:crypto";
import { UnavailableError } from "../../platform/errors.ts";
import type { LeaderPace, Pace, PaceLimit } from "../../store/records/pace.ts";
import { nameOf } from "./item.ts";
import type { KeyMap } from "./key_map.ts";
import { Untaken } from "./untaken.ts";
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
  /** The most of one trigger that another instance has accepted and the leader does not count yet. */
  runs_of_instance: 10_000,
};

const WHAT: Readonly<Record<PaceLimit, (max: number) => string>> = {
  runs: (max) => `${max} runs wait for their turn`,
  runs_of_trigger: (max) => `${max} runs of its trigger wait for their turn`,
  runs_of_key: (max) => `${max} runs of its concurrency key wait for a place`,
  keys_of_trigger: (max) => `its trigger has runs of ${max} keys, and this may be another one`,
  runs_of_instance: (max) =>
    `the leader has not taken up the last ${max} runs of its trigger that this instance has accepted`,
};
const RETRY_S = 60;
/** The leader counts what was accepted at its next look. */
const RETRY_SOON_S = 1;
/** The most names that are told. More triggers and keys are full only where tests have lowered a limit. */
const TOLD_MAX = 200;

/** The leader's runs, as another instance knows them. */
interface Followed {
  readonly isLeader: boolean;
  readonly leader: { pace?: LeaderPace } | undefined;
}

interface RoomParts {
  /** Lower limits than those of a service. */
  limits?: Partial<Record<PaceLimit, number>> | undefined;
  items: WaitingRuns;
  bursts: KeyMap<unknown>;
  lanes: KeyMap<{ readonly length: number }>;
  /** The instances that share the database, if any. */
  instances?: Followed | undefined;
  /** Called for each launch that finds no room. */
  onFull?: ((limit: PaceLimit) => void) | undefined;
}

/** Tells whether more runs may wait. */
export class Room {
  /** The launches that do not count as runs that wait yet. */
  readonly untaken = new Untaken();
  /** Of a commit: what was accepted before it counts. */
  #countedUpTo = "";
  /** True once this instance has counted, as the leader. */
  #counts = false;
  readonly #parts: RoomParts;
  readonly #limits: Readonly<Record<PaceLimit, number>>;
  /** The names of keys that have been full. */
  readonly #fullKeys = new Set<string>();
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
    const limit = this.#reachedBy(triggerId, pace);
    if (limit === undefined) return undefined;
    this.#parts.onFull?.(limit);
    const known = this.#errors.get(limit);
    if (known) return known;
    const what = WHAT[limit](this.#limits[limit]);
    const retry_s = limit === "runs_of_instance" ? RETRY_SOON_S : RETRY_S;
    const error = new UnavailableError(`Cannot accept a launch: ${what}`, retry_s);
    this.#errors.set(limit, error);
    return error;
  }

  /** Notes that all runs which were accepted before a commit count. */
  countedUpTo(versionstamp: string): void {
    this.#counts = true;
    this.#countedUpTo = versionstamp;
  }

  /** Notes that one more run of a key waits for a place. */
  queued(name: string): void {
    if (this.#isFullKey(name)) this.#fullKeys.add(name);
  }

  /** The counts that the other instances are told; undefined where there is nothing to tell. */
  get told(): LeaderPace | undefined {
    if (!this.#counts) return undefined;
    const { items, bursts, lanes } = this.#parts;
    const { runs_of_trigger, keys_of_trigger } = this.#limits;
    for (const name of this.#fullKeys) if (!this.#isFullKey(name)) this.#fullKeys.delete(name);
    const keys = [...bursts.fullAt(keys_of_trigger), ...lanes.fullAt(keys_of_trigger)];
    const full = [
      { limit: "runs_of_trigger" as const, names: items.fullAt(runs_of_trigger) },
      { limit: "keys_of_trigger" as const, names: keys },
      { limit: "runs_of_key" as const, names: [...this.#fullKeys].map(toldName) },
    ];
    return {
      counted_up_to: this.#countedUpTo,
      full: full.flatMap(({ limit, names }) =>
        names.length === 0 ? [] : [{ limit, names: names.slice(0, TOLD_MAX) }]
      ),
    };
  }

  #isFullKey(name: string): boolean {
    return (this.#parts.lanes.get(name)?.length ?? 0) >= this.#limits.runs_of_key;
  }

  #reachedBy(triggerId: string, pace: Pace): PaceLimit | undefined {
    const { instances } = this.#parts;
    const counts = instances === undefined || (this.#counts && instances.isLeader);
    const told = counts ? undefined : instances.leader?.pace;
    // A new leader has counted nothing at first.
    if (told && told.counted_up_to > this.#countedUpTo) this.#countedUpTo = told.counted_up_to;
    const untaken = this.untaken.countOf(triggerId, this.#countedUpTo);
    if (instances && untaken >= this.#limits.runs_of_instance) return "runs_of_instance";
    return counts
      ? this.#reached(triggerId, pace, untaken)
      : reachedAtLeader(triggerId, pace, told?.full ?? []);
  }

  #reached(
    triggerId: string,
    { coalesce, concurrency }: Pace,
    untaken: number,
  ): PaceLimit | undefined {
    const { items, bursts, lanes } = this.#parts;
    const { runs_of_trigger, keys_of_trigger } = this.#limits;
    if (this.isFull) return "runs";
    if (items.countOf(triggerId) + untaken >= runs_of_trigger) return "runs_of_trigger";
    for (const [keys, of] of [[bursts, coalesce], [lanes, concurrency]] as const) {
      if (of === undefined || keys.has(nameOf(triggerId, of.key))) continue;
      if (keys.countOf(triggerId) >= keys_of_trigger) return "keys_of_trigger";
    }
    if (concurrency?.when_full !== "queue") return undefined;
    return this.#isFullKey(nameOf(triggerId, concurrency.key)) ? "runs_of_key" : undefined;
  }
}

/** The same where the leader counts. It does not tell which keys there are: a trigger with too many is full. */
function reachedAtLeader(
  triggerId: string,
  { concurrency }: Pace,
  full: LeaderPace["full"],
): PaceLimit | undefined {
  if (full.length === 0) return undefined;
  const queue = concurrency?.when_full === "queue" && toldName(nameOf(triggerId, concurrency.key));
  const isFull = (names: string[]) => names.includes(triggerId) || (queue && names.includes(queue));
  return full.find(({ names }) => isFull(names))?.limit;
}

/** Returns the name of a key as it is told. */
function toldName(name: string): string {
  return hash("sha256", name, "base64url");
}
