/**
 * Which scheduled backups are kept: the newest of each of the last hours, days and weeks that have one
 * ("grandfather, father, son").
 *
 * @module
 */
import { timeOfName } from "./names.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The epoch was a Thursday. Weeks begin on Monday. */
const EPOCH_DAY_OF_WEEK = 3;

/** The numbers of hours, days and weeks of which a backup is kept. */
export interface Keep {
  hourly: number;
  daily: number;
  weekly: number;
}

const PERIODS: readonly [name: keyof Keep, periodOf: (time_ms: number) => number][] = [
  ["hourly", (time_ms) => Math.floor(time_ms / HOUR_MS)],
  ["daily", (time_ms) => Math.floor(time_ms / DAY_MS)],
  ["weekly", (time_ms) => Math.floor((Math.floor(time_ms / DAY_MS) + EPOCH_DAY_OF_WEEK) / 7)],
];

/** Returns the names of the backups that are kept. The newest one always is. */
export function keptNames(names: readonly string[], keep: Keep): Set<string> {
  const newestFirst = names.flatMap((name) => {
    const time_ms = timeOfName(name);
    return time_ms === undefined ? [] : [{ name, time_ms }];
  }).sort((one, other) => other.time_ms - one.time_ms);
  const kept = new Set(newestFirst.slice(0, 1).map(({ name }) => name));
  for (const [period, periodOf] of PERIODS) {
    const seen = new Set<number>();
    for (const { name, time_ms } of newestFirst) {
      const at = periodOf(time_ms);
      if (seen.has(at)) continue;
      if (seen.size >= keep[period]) break;
      seen.add(at);
      kept.add(name);
    }
  }
  return kept;
}
