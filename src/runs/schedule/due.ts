/**
 * The occurrence of a schedule that is due: the newest one that has made no run.
 *
 * @module
 */
import type { Ranges, StoredSchedule } from "../../store/records/schedules.ts";
import { newestTime, nextTimes, type Timetable } from "./cron.ts";

/** An occurrence that is later than this was missed. */
const LATE_MS_MAX = 5 * 60_000;
const RANGES_MAX = 16;

/** The moment at which a schedule is looked at. */
interface Look {
  now_ms: number;
  /** The time of the look before, or of the start. */
  before_ms: number;
}

/** Returns the occurrence that is due; undefined where none is. */
export function dueTime(
  schedule: StoredSchedule,
  ranges: Ranges,
  { now_ms, before_ms }: Look,
): number | undefined {
  const time_ms = newestTime(schedule, now_ms);
  if (time_ms === undefined) return undefined;
  // A clock that was set back may show a time before the schedule was saved.
  const since_ms = schedule.since_ms <= now_ms ? schedule.since_ms : before_ms;
  if (time_ms <= Math.max(since_ms, decidedUntil(ranges, now_ms))) return undefined;
  const isMissed = now_ms - time_ms > LATE_MS_MAX;
  return isMissed && schedule.missed === "skip" ? undefined : time_ms;
}

/** Returns true for an occurrence that has made a run. */
export function hasRun(ranges: Ranges, time_ms: number): boolean {
  return ranges.some(([first_ms, last_ms]) => first_ms <= time_ms && time_ms <= last_ms);
}

/** Returns the time up to which nothing is missed. A clock that was set forward leaves later ranges behind. */
function decidedUntil(ranges: Ranges, now_ms: number): number {
  return Math.max(
    -Infinity,
    ...ranges.flatMap(([first_ms, last_ms]) =>
      first_ms <= now_ms ? [Math.min(last_ms, now_ms)] : []
    ),
  );
}

/** Adds an occurrence that makes a run to those that have made one. */
export function withTime(timetable: Timetable, ranges: Ranges, time_ms: number): Ranges {
  const extended = ranges.map(([first_ms, last_ms]) =>
    last_ms < time_ms && nextTimes(timetable, last_ms, 1)[0] === time_ms
      ? [first_ms, time_ms] as const
      : [first_ms, last_ms] as const
  );
  const all = hasRun(extended, time_ms) ? extended : [...extended, [time_ms, time_ms] as const];
  return all.toSorted(([one], [other]) => one - other).slice(-RANGES_MAX);
}
