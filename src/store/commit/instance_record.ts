/**
 * The record of an instance, and what others see of it.
 *
 * @module
 */
import type { LeaderPace } from "../records/pace.ts";

/** An instance, as it is stored. */
export interface InstanceRecord {
  id: string;
  /** The machine that it runs on, by its data folder; its own id where it has none. */
  machine_id: string;
  /** Set once it looks after what its machine runs. */
  has_machine?: true;
  /** The address at which the other instances reach it. */
  url?: string;
  /** The version of its program. */
  version?: string;
  /** Digests of the settings that all instances are to share, by their names. */
  settings?: Readonly<Record<string, string>>;
  /** RFC 3339, by its own clock. */
  started_at: string;
  /** Number of times that it has shown that it lives. */
  beats: number;
  /** Its steady clock at that moment, in milliseconds since the epoch. */
  time_ms: number;
  /** The lead of its clock over the leader's, in milliseconds; absent while that is not known. */
  ahead_ms?: number;
  /** Set while it accepts no launches: the reason. */
  obstacle?: string;
  /** Set while it has no room for more pending runs. */
  is_full?: true;
  /** The limit of launches of each other instance until the leader's next beat. There is none when absent. */
  room?: number;
  /** Set while executions wait for a place on the leader's machine. */
  executions_wait?: true;
  /** The leader's runs that wait for their turn; absent where none has a pace. */
  pace?: LeaderPace;
}

/** The leader's pending runs, as they limit the other instances. */
export interface LeaderLoad {
  isFull: boolean;
  /** Number of runs that have ended since it was asked for before; absent while launches need not wait for them. */
  ended?: number | undefined;
  pace?: LeaderPace | undefined;
  /** True while executions wait for a place on its machine. */
  executionsWait?: boolean;
}

/** An instance as it was seen last. */
export interface Seen {
  record: InstanceRecord;
  versionstamp: string;
  /** Number of looks since its record changed. */
  looks: number;
  /** The time since which it accepts no launches. */
  obstructed_ms: number | undefined;
  /** The time since which it differs from the instance that looks. */
  differing_ms: number | undefined;
}

/** An instance as the others see it. */
export interface SeenInstance extends InstanceRecord {
  isLeader: boolean;
  isSelf: boolean;
  /** Milliseconds since it was seen to be alive. */
  silent_ms: number;
  /** The time for which it has accepted no launches; absent where it accepts them. */
  obstructed?: Span;
  /** The time for which it has differed from the instance that looks; absent where it does not. */
  differing?: Span;
}

/** A time that lasts. */
interface Span {
  /** Milliseconds since the epoch. */
  since_ms: number;
  lasts_ms: number;
}

/**
 * Returns an instance as it is seen now.
 *
 * @param own the record of the instance that looks
 */
export function seenAgain(
  before: Seen | undefined,
  { record, versionstamp }: Pick<Seen, "record" | "versionstamp">,
  { own, now_ms }: { own: InstanceRecord; now_ms: number },
): Seen {
  const isSame = before?.versionstamp === versionstamp;
  const differs = differencesOf(record, own).length > 0;
  return {
    record,
    versionstamp,
    looks: isSame ? before.looks + 1 : 0,
    obstructed_ms: record.obstacle === undefined ? undefined : before?.obstructed_ms ?? now_ms,
    differing_ms: differs ? before?.differing_ms ?? now_ms : undefined,
  };
}

/** Returns the time for which something lasts. */
export function spanSince(since_ms: number, now_ms: number): Span {
  return { since_ms, lasts_ms: now_ms - since_ms };
}

/** Names what differs between two instances: `version`, and settings. One that tells neither is of an earlier version. */
export function differencesOf(
  { version, settings = {} }: Pick<InstanceRecord, "version" | "settings">,
  other: Pick<InstanceRecord, "version" | "settings">,
): string[] {
  // It has not told yet what it is.
  if (other.version === undefined) return [];
  if (version !== other.version) return ["version"];
  return Object.entries(other.settings ?? {}).flatMap(([name, digest]) =>
    settings[name] === digest ? [] : [name]
  );
}
