/**
 * Timestamps: their formats, and their distance from the time of receipt.
 *
 * @module
 */
import type { Refusal } from "./check.ts";

/** The formats of a timestamp: whole seconds or milliseconds since 1970, or RFC 3339. */
export const TIMESTAMP_FORMATS = ["unix_s", "unix_ms", "rfc3339"] as const;

/** A format of a timestamp. */
export type TimestampFormat = typeof TIMESTAMP_FORMATS[number];

/** RFC 3339 section 5.6. A leap second is refused: clocks do not know them. */
const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Reads a timestamp, in milliseconds since the epoch; undefined where the text is not exactly of the format. */
export function parseTimestamp(
  text: string,
  format: TimestampFormat,
): number | undefined {
  switch (format) {
    case "unix_s":
      return /^[0-9]{1,12}$/.test(text) ? Number(text) * 1000 : undefined;
    case "unix_ms":
      return /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
    case "rfc3339":
      return parseRfc3339(text);
  }
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
  }
}

/** An example of each format, to end a sentence with. */
export const EXAMPLES = {
  unix_s: "whole seconds since 1970, such as 1700000000",
  unix_ms: "whole milliseconds since 1970, such as 1700000000000",
  rfc3339: "a date and time such as 2023-11-14T22:13:20Z",
};

/** The bounds of a timestamp. */
interface Freshness {
  format: TimestampFormat;
  /** The greatest distance from the time of receipt, in seconds, to either side. */
  tolerance: number;
  /** The name of the timestamp in a refusal. */
  place: string;
}

/** Refuses a timestamp that is not of its format, or too far from the time of receipt. */
export function checkFreshness(
  text: string,
  { format, tolerance, place }: Freshness,
  receivedAt_ms: number,
): Refusal | undefined {
  const time_ms = parseTimestamp(text, format);
  if (time_ms === undefined) {
    const expected = EXAMPLES[format];
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

function parseRfc3339(text: string): number | undefined {
  if (!RFC3339.test(text)) return undefined;
  try {
    return Temporal.Instant.from(text).epochMilliseconds;
  } catch {
    // No such day, hour, minute or offset exists.
    return undefined;
  }
}
