/**
 * The times of a cron expression in a time zone, over daylight saving.
 *
 * @module
 */
import { Cron } from "croner";
import { messageOf } from "../../platform/errors.ts";

/** Five fields, or a name such as `@daily`. */
const FORM = /^(?:@\w+|\S+(?:\s+\S+){4})$/;

/** The times at which something is due. */
export interface Timetable {
  cron: string;
  /** A name of the IANA database. */
  timezone: string;
}

/**
 * A job at fixed times has no wildcard and no step in its minutes and hours. A time of it that a night leaves out
 * comes at the next moment that exists; one that comes twice counts once. Any other follows the clock on the wall.
 */
function cronOf({ cron, timezone }: Timetable): Cron {
  return new Cron(cron, {
    timezone,
    mode: "5-part",
    fixedTimeRule: "no-wildcard",
    paused: true,
  });
}

/** Returns what is wrong with a cron expression; undefined where it is right. */
export function cronMistake(cron: string): string | undefined {
  if (!FORM.test(cron)) {
    return `Expected five fields, such as "0 3 * * *", or @hourly, @daily, @weekly, @monthly or @yearly, ` +
      `found "${cron}"`;
  }
  try {
    const next = cronOf({ cron, timezone: "UTC" }).nextRun();
    return next === null
      ? `Expected a time that comes, found "${cron}", which never does`
      : undefined;
  } catch (error) {
    return `Expected a cron expression, found "${cron}": ${
      messageOf(error).replace(/^CronPattern: /, "")
    }`;
  }
}

/** Returns the next times after one, in milliseconds since the epoch. */
export function nextTimes(timetable: Timetable, after_ms: number, count: number): number[] {
  return cronOf(timetable).nextRuns(count, new Date(after_ms)).map((time) => time.getTime());
}

/** Returns the newest time up to one, that one included; undefined where there is none. */
export function newestTime(timetable: Timetable, until_ms: number): number | undefined {
  // Times are at whole minutes: the library looks before the second that it is given.
  const times = cronOf(timetable).previousRuns(2, new Date(until_ms + 1_000));
  return times.map((time) => time.getTime()).find((time_ms) => time_ms <= until_ms);
}
