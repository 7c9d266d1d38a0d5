/**
 * The pace of a run: what it waits for before it is performed.
 *
 * @module
 */

/** The names of the limits of runs that wait for their turn. */
export const PACE_LIMITS = [
  "runs",
  "runs_of_trigger",
  "runs_of_key",
  "keys_of_trigger",
  "runs_of_instance",
] as const;

/** The name of a limit. */
export type PaceLimit = typeof PACE_LIMITS[number];

/** The leader's runs that wait, as they limit the other instances. */
export interface LeaderPace {
  /** Of a commit: the leader counts all runs that were accepted before it. */
  counted_up_to: string;
  /** The triggers, or their keys, that have reached a limit, by names of their own. */
  full: { limit: PaceLimit; names: string[] }[];
}

/** The turn of a run, as its trigger's settings said when it was accepted. */
export interface Pace {
  /** The burst that it is part of. */
  coalesce?: CoalescePace;
  /** The time before which it is not performed, in milliseconds since the epoch. */
  due_ms?: number;
  concurrency?: ConcurrencyPace;
}

/** Runs of one key become one run. */
export interface CoalescePace {
  key: string;
  /** The time after the newest of them. */
  window_ms: number;
  /** The time after the first of them. */
  wait_max_ms: number;
  keep: "newest" | "first" | "all";
}

/** At most so many runs of one key have work under way. */
export interface ConcurrencyPace {
  key: string;
  limit: number;
  when_full: "queue" | "newest" | "refuse";
}
