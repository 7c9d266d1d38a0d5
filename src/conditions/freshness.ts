/**
 * Timestamps: their formats, and their distance from the time of receipt.
 *
 * @module
 */
import type { Refusal } from "./check.ts";

/** The formats of a timestamp: seconds or milliseconds since 1970, RFC 3339, or RFC 1123. */
export const TIMESTAMP_FORMATS = ["unix_s", "unix_ms", "rfc3339", "rfc1123"] as const;

/** A format of a timestamp. */
export type TimestampFormat = typeof TIMESTAMP_FORMATS[number];

/** RFC 3339 section 5.6. A leap second is refused: clocks do not know them. */
const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/;

const RFC1123 =
  /^(?:([A-Z][a-z]{2}), )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:[0-5]\d) (GMT|UTC|[+-]\d{4})$/;
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS = [
  "Jan",
  "Feb",
  "Mar",
  "Apr",
  "May",
  "Jun",
  "Jul",
  "Aug",
  "Sep",
  "Oct",
  "Nov",
  "Dec",
];

/** Reads a timestamp, in milliseconds since the epoch; undefined where the text is not exactly of the format. */
export function parseTimestamp(
  text: string,
  format: TimestampFormat,
): number | undefined {
  switch (format) {
    case "unix_s":
      return parseUnix(text, /^([0-9]{1,12})(?:\.([0-9]{1,9}))?$/, 1_000);
    case "unix_ms":
      return parseUnix(text, /^([0-9]{1,15})(?:\.([0-9]{1,9}))?$/, 1);
    case "rfc3339":
      return parseRfc3339(text);
    case "rfc1123":
      return parseRfc1123(text);
  }
}

/** Reads a number of seconds or milliseconds; what is below a millisecond is cut off. */
function parseUnix(text: string, form: RegExp, unit_ms: number): number | undefined {
  const [, whole, fraction = ""] = form.exec(text) ?? [];
  if (whole === undefined) return undefined;
  return Number(whole) * unit_ms + Math.floor(Number(`0.${fraction || 0}`) * unit_ms);
}

/** Writes a time as a sender of the format would. */
export function formatTimestamp(time_ms: number, format: TimestampFormat): string {
  switch (format) {
    case "unix_s":
      return String(Math.floor(time_ms / 1000));
    case "unix_ms":
      return String(Math.floor(time_ms));
    case "rfc3339":
      return new Date(time_ms).toISOString();
    case "rfc1123":
      return new Date(time_ms).toUTCString();
  }
}

/** An example of each format, to end a sentence with. */
export const EXAMPLES = {
  unix_s: "seconds since 1970, such as 1700000000 or 1700000000.5",
  unix_ms: "milliseconds since 1970, such as 1700000000000",
  rfc3339: "a date and time such as 2023-11-14T22:13:20Z",
  rfc1123: "a date and time such as Tue, 14 Nov 2023 22:13:20 GMT",
};

/** The bounds of a timestamp. */
interface Freshness {
  format: TimestampFormat;
  /** The greatest distance from the time of receipt, in seconds, to either side. */
  tolerance: number;
  /** The name of the timestamp in a refusal. */
  place: string;
  /** False where a fraction of the time could be the beginning of what is signed behind it. */
  takesFraction: boolean;
}

/** Refuses a timestamp that is not of its format, or too far from the time of receipt. */
export function checkFreshness(
  text: string,
  { format, tolerance, place, takesFraction }: Freshness,
  receivedAt_ms: number,
): Refusal | undefined {
  const isWhole = takesFraction || !format.startsWith("unix") || !text.includes(".");
  const time_ms = isWhole ? parseTimestamp(text, format) : undefined;
  if (time_ms === undefined) {
    const expected = takesFraction ? EXAMPLES[format] : `${EXAMPLES[format]}, without a fraction`;
    return { reason: `${place} is not a timestamp`, expected, found: text.slice(0, 64) };
  }
  const age_ms = receivedAt_ms - time_ms;
  if (Math.abs(age_ms) <= tolerance * 1000) return undefined;
  const distance = `${Math.abs(age_ms) / 1000} s ${age_ms > 0 ? "before" : "after"}`;
  return {
    reason: `${place} lies ${distance} the time of receipt`,
    expected: `at most ${tolerance} s before or after`,
    found: text,
  };
}

/** Reads a date of HTTP and of mail (RFC 9110 section 5.6.7, RFC 5322 section 3.3); the day's name must be right. */
function parseRfc1123(text: string): number | undefined {
  const [, weekday = "", day = "", month = "", year, time, zone = ""] = RFC1123.exec(text) ?? [];
  const number = MONTHS.indexOf(month) + 1;
  if (number === 0) return undefined;
  const offset = /^[A-Z]/.test(zone) ? "Z" : `${zone.slice(0, 3)}:${zone.slice(3)}`;
  const date = `${year}-${String(number).padStart(2, "0")}-${day.padStart(2, "0")}`;
  const time_ms = parseRfc3339(`${date}T${time}${offset}`);
  if (time_ms === undefined || weekday === "") return time_ms;
  return WEEKDAYS[Temporal.PlainDate.from(date).dayOfWeek - 1] === weekday ? time_ms : undefined;
}

function parseRfc3339(text: string): number | undefined {
  if (!RFC3339.test(text)) return undefined;
  try {
    return Temporal.Instant.from(text).epochMilliseconds;
  } catch {
    // No such day, hour, minute or offset exists.
    return undefined;
  }
}
