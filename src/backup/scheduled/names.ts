/**
 * The names of scheduled backups. They sort by their times, which are in UTC.
 *
 * @module
 */

const NAME = /^hooklaunch-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.tar\.gz$/;
/** The beginning of each name. */
export const NAME_START = "hooklaunch-";

/** Returns the name of a backup that is made at a time, in milliseconds since the epoch. */
export function backupName(time_ms: number): string {
  const time = new Date(time_ms).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  return `${NAME_START}${time}.tar.gz`;
}

/** Returns the time of a backup by its name, in milliseconds since the epoch; undefined for other names. */
export function timeOfName(name: string): number | undefined {
  const match = NAME.exec(name);
  if (match === null) return undefined;
  const [, year, month, day, hours, minutes, seconds] = match;
  const time_ms = Date.parse(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}Z`);
  return Number.isNaN(time_ms) ? undefined : time_ms;
}
