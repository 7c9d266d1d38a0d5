/**
 * The diagnosis of the condition `timestamp`.
 *
 * @module
 */
import { readField } from "../field.ts";
import { parseTimestamp } from "../freshness.ts";
import type { TimestampSettings } from "../timestamp.ts";
import { describeAge, formatClue } from "./age.ts";
import type { DiagnosisContext } from "./context.ts";
import { type Clue, likely } from "./finding.ts";
import { missingSentence } from "./places.ts";

/** Diagnoses a time that is refused. */
export function diagnoseTimestamp(
  settings: TimestampSettings,
  context: DiagnosisContext,
): Promise<Clue[]> {
  return Promise.resolve([clueOf(settings, context)]);
}

function clueOf(settings: TimestampSettings, context: DiagnosisContext): Clue {
  const { request, refusal } = context;
  const value = readField(request, settings);
  if (typeof value === "object") {
    const isMissing = value.reason.endsWith(" is missing");
    return likely(
      isMissing
        ? missingSentence(settings, request, "does the sender send its time there?")
        : `${value.reason}.`,
    );
  }
  const text = String(value);
  const { tolerance } = settings;
  const format = formatClue(text, settings, request);
  if (format !== undefined) return format;
  const time_ms = parseTimestamp(text, settings.format);
  const age = time_ms === undefined
    ? undefined
    : describeAge(time_ms, { tolerance, what: "The request is" }, context);
  return age ?? likely(`${refusal.reason}: expected ${refusal.expected}.`);
}
