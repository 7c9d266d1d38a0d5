/**
 * The age of a request, in words.
 *
 * @module
 */
import { type Field, readField, readText } from "../field.ts";
import {
  checkFreshness,
  parseTimestamp,
  TIMESTAMP_FORMATS,
  type TimestampFormat,
} from "../freshness.ts";
import type { LaunchRequest } from "../request.ts";
import { candidatesReader } from "../signing/candidates.ts";
import { type Scheme, signatureFields } from "../signing/scheme.ts";
import type { DiagnosisContext } from "./context.ts";
import { type Clue, likely, matching, possible } from "./finding.ts";
import { formatDifference } from "./writings.ts";

const YEAR_S = 366 * 86_400;
const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]] as const;

/** A limit of the age of a request. */
interface AgeLimit {
  /** In seconds. */
  tolerance: number;
  /** The first words of the sentence, such as "The request is". */
  what: string;
}

/** The format and the tolerance that a condition has for times. */
interface OwnFormat {
  format: TimestampFormat;
  tolerance: number;
}

/** Returns a finding about the time of a right signature; undefined where it is fresh, or there is none. */
export function ageClue(
  scheme: Scheme,
  request: LaunchRequest,
  context: DiagnosisContext,
): Clue | undefined {
  const { timestamp, tolerance } = scheme;
  const text = timeText(scheme, request);
  if (timestamp === undefined || text === undefined) return undefined;
  const time_ms = parseTimestamp(text, timestamp.format);
  if (time_ms === undefined) return undefined;
  const age = describeAge(time_ms, { tolerance, what: "Right signature," }, context);
  if (age === undefined) return undefined;
  return formatClue(text, { ...timestamp, tolerance }, request) ?? age;
}

/**
 * Returns a finding about a time in another format: one by which it is fresh, or else of the last year. Seconds can be
 * read as milliseconds, too.
 */
export function formatClue(
  text: string,
  own: OwnFormat,
  request: LaunchRequest,
): Clue | undefined {
  const fresh = otherFormat(text, own, request);
  if (fresh !== undefined) return matching([formatDifference(fresh)]);
  const near = otherFormat(text, { ...own, tolerance: YEAR_S }, request);
  return near === undefined ? undefined : likely(formatDifference(near));
}

function otherFormat(
  text: string,
  { format: own, tolerance }: OwnFormat,
  { receivedAt_ms }: LaunchRequest,
): TimestampFormat | undefined {
  return TIMESTAMP_FORMATS.find((format) => {
    const freshness = { format, tolerance, place: "", takesFraction: true };
    return format !== own && checkFreshness(text, freshness, receivedAt_ms) === undefined;
  });
}

/** Returns a finding about a time that is too far from the time of receipt; undefined where it is not. */
export function describeAge(
  time_ms: number,
  { tolerance, what }: AgeLimit,
  { request, isReceiptKnown }: DiagnosisContext,
): Clue | undefined {
  const age_ms = request.receivedAt_ms - time_ms;
  if (Math.abs(age_ms) <= tolerance * 1000) return undefined;
  const age = duration(Math.abs(age_ms));
  const allowed = `${duration(tolerance * 1000)} are allowed (\`tolerance\`)`;
  if (age_ms < 0) {
    return matching([
      `${what} ${age} in the future: look at the clock. ${allowed}. Set the clocks of the sender and of ` +
      "this machine by NTP.",
    ]);
  }
  if (isReceiptKnown) {
    return matching([
      `${what} ${age} old: look at the clock. ${allowed}. If the clocks are right, the request waited, ` +
      "or was sent again.",
    ]);
  }
  return possible(
    `${what} ${age} old by now; ${allowed}. If it was as old when it came, look at the clock.`,
  );
}

/** Returns the text of a scheme's time; undefined where there is none. */
function timeText(scheme: Scheme, request: LaunchRequest): string | undefined {
  const { timestamp } = scheme;
  if (timestamp === undefined) return undefined;
  if (timestamp.in === "signature") {
    const read = candidatesReader(scheme)(
      signatureFields(scheme).map((field) => readText(request, field)),
    );
    return "reason" in read ? undefined : read.timestamp;
  }
  const field: Field = { ...timestamp, in: timestamp.in };
  const value = readField(request, field);
  return typeof value === "object" ? undefined : String(value);
}

/** Writes a span of time in its largest unit, such as "11 minutes". */
export function duration(span_ms: number): string {
  const span_s = Math.round(span_ms / 1000);
  const [unit, seconds] = UNITS.find(([, seconds]) => span_s >= 2 * seconds) ?? ["second", 1];
  const count = Math.floor(span_s / seconds);
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
