/**
 * The condition `timestamp`: a request carries the time at which it was made, which is not long ago.
 *
 * @module
 */
import { z } from "zod";
import type { Problem } from "../platform/errors.ts";
import type { Check } from "./check.ts";
import type { CheckedKind, ConditionContext, TriggerFacts } from "./condition.ts";
import { describeField, type Field, readCredentials, readField } from "./field.ts";
import { checkFreshness, EXAMPLES, formatTimestamp, TIMESTAMP_FORMATS } from "./freshness.ts";
import { checkField, fieldInSchema, fieldNameSchema, settingsObject } from "./settings.ts";
import { isTimeSigned, takesFraction } from "./signing/coverage.ts";
import { type SigningContext, type SigningStep, STEP_ORDER } from "./signing/draft.ts";

const schema = settingsObject({
  type: z.literal("timestamp"),
  in: fieldInSchema,
  name: fieldNameSchema,
  format: z.enum(TIMESTAMP_FORMATS).describe(
    "Seconds or milliseconds since 1970, or a date and time with its offset (RFC 3339, RFC 1123)",
  ),
  tolerance: z.int().min(1).max(86_400).default(300).describe(
    "The greatest distance of the timestamp from the time of receipt, in seconds, to either side",
  ),
}).superRefine(checkField);

/** The settings of a timestamp condition. */
export type TimestampSettings = z.infer<typeof schema>;

/** A time near the time of receipt, so that a request cannot be replayed later. */
export const timestamp = {
  type: "timestamp",
  stage: "timestamp",
  schema,
  time: ({ in: place, name }: TimestampSettings): Field => ({ in: place, name }),
  warnings,
  prepare,
  sign,
} satisfies CheckedKind<TimestampSettings>;

function prepare(settings: TimestampSettings, { credentials, schemes }: ConditionContext): Check {
  const place = describeField(settings);
  const expected = EXAMPLES[settings.format];
  const freshness = { ...settings, place, takesFraction: schemes.every(takesFraction) };
  return (request) => {
    const value = readField(request, settings);
    if (typeof value === "object") return { expected, ...value };
    // A JSON number is written as usual.
    const text = String(value);
    const refusal = checkFreshness(text, freshness, request.receivedAt_ms);
    const isCredential = refusal &&
      credentials.some((field) => readCredentials(request, field).includes(text));
    return isCredential ? { ...refusal, found: "not shown" } : refusal;
  };
}

function warnings(settings: TimestampSettings, { schemes }: TriggerFacts): Problem[] {
  if (isTimeSigned(settings, schemes)) return [];
  const detail =
    "No signature covers the timestamp: anyone who has seen a request can send it again with a new one";
  return [{ pointer: "", detail }];
}

function sign(settings: TimestampSettings, { draft }: SigningContext): SigningStep[] {
  const run = () => {
    const text = formatTimestamp(draft.now_ms, settings.format);
    draft.put(settings, text);
    return `${describeField(settings)} is ${text}`;
  };
  return [{ order: STEP_ORDER.beforeSigning, run }];
}
