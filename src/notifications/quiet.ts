/**
 * Times in which silence is normal: days of the week, hours, or hours of some days, in a time zone.
 *
 * @module
 */

const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const MINUTES_A_DAY = 24 * 60;
const FORM =
  /^(?:((?:sun|mon|tue|wed|thu|fri|sat)(?:[,-](?:sun|mon|tue|wed|thu|fri|sat))*))?(?:(?:^|(?<=\w) )(\d\d):(\d\d)-(\d\d):(\d\d))?(?: (\S+))?$/;
const EXPECTED =
  "Expected days, hours or both, and a time zone or none, such as `22:00-06:00 Europe/Helsinki`, `sat` or `mon-fri 18:00-08:00`";

/** A time in which silence is normal. */
interface Quiet {
  /** Days of the week from 0, Sunday; all when empty. */
  days: ReadonlySet<number>;
  /** Minutes of the day. The end may lie on the next day. */
  from: number;
  to: number;
  zone: string;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns what is wrong with a time in which silence is normal. */
export function quietMistake(text: string): string | undefined {
  try {
    parseQuiet(text);
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}

/** Tells whether silence is normal at a time. */
export function isQuiet(texts: readonly string[], time_ms: number): boolean {
  return texts.some((text) => {
    const { days, from, to, zone } = parseQuiet(text);
    const { day, minute } = localTime(zone, time_ms);
    const isOn = (each: number) => days.size === 0 || days.has((each + 7) % 7);
    if (from < to) return isOn(day) && minute >= from && minute < to;
    // The part behind midnight belongs to the day before.
    return (isOn(day) && minute >= from) || (isOn(day - 1) && minute < to);
  });
}

/** @throws {RangeError} with what is wrong */
function parseQuiet(text: string): Quiet {
  const found = FORM.exec(text);
  const [, dayList, fromHour, fromMinute, toHour, toMinute, zone = "UTC"] = found ?? [];
  if (found === null || (dayList === undefined && fromHour === undefined)) {
    throw new RangeError(EXPECTED);
  }
  const from = fromHour === undefined ? 0 : minuteOf(fromHour, fromMinute);
  const to = toHour === undefined ? MINUTES_A_DAY : minuteOf(toHour, toMinute);
  if (from === to) throw new RangeError("Expected hours that end at another time than they begin");
  try {
    formatOf(zone);
  } catch {
    throw new RangeError(`Expected a time zone such as Europe/Helsinki, found "${zone}"`);
  }
  return { days: daysIn(dayList ?? ""), from, to, zone };
}

function minuteOf(hour: string, minute: string | undefined): number {
  const minutes = Number(hour) * 60 + Number(minute);
  if (Number(minute) > 59 || minutes > MINUTES_A_DAY) {
    throw new RangeError(`Expected a time of the day, found ${hour}:${minute}`);
  }
  return minutes;
}

function daysIn(list: string): Set<number> {
  const days = new Set<number>();
  for (const part of list === "" ? [] : list.split(",")) {
    const [first = "", last = first, ...others] = part.split("-");
    if (others.length > 0) throw new RangeError(EXPECTED);
    const [from, to] = [DAYS.indexOf(first), DAYS.indexOf(last)];
    for (let day = from;; day = (day + 1) % 7) {
      days.add(day);
      if (day === to) break;
    }
  }
  return days;
}

function localTime(zone: string, time_ms: number): { day: number; minute: number } {
  const parts = new Map(
    formatOf(zone).formatToParts(time_ms).map(({ type, value }) => [type, value]),
  );
  const day = DAYS.indexOf((parts.get("weekday") ?? "").toLowerCase());
  return { day, minute: Number(parts.get("hour")) * 60 + Number(parts.get("minute")) };
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  formats.set(zone, format);
  return format;
}
