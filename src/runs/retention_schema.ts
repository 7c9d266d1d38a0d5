/**
 * The schema of the retention of a trigger or a project.
 *
 * @module
 */
import { z } from "zod";
import { isTimeSpan, timeSpan_ms } from "../platform/text/time_span.ts";

const SPAN_MIN = "1h";
/** Ten years. */
const SPAN_MAX = "3650d";

/** The spans from the least to the longest, for a JSON schema. */
const SPAN_PATTERN = "^(([6-9][0-9]|[1-9][0-9]{2,4})m|" +
  "([1-9][0-9]{0,3}|[1-7][0-9]{4}|8[0-6][0-9]{3}|87[0-5][0-9]{2}|87600)h|" +
  "([1-9][0-9]{0,2}|[12][0-9]{3}|3[0-5][0-9]{2}|36[0-4][0-9]|3650)d)$";

/** The schema of a span for which something is kept. */
export const retentionSpanSchema = z.string().refine(isTimeSpan, {
  error: "Expected a time such as 12h or 90d",
  abort: true,
}).refine(
  (text) =>
    timeSpan_ms(text) >= timeSpan_ms(SPAN_MIN) && timeSpan_ms(text) <= timeSpan_ms(SPAN_MAX),
  { error: `Expected ${SPAN_MIN} to ${SPAN_MAX}` },
).meta({ pattern: SPAN_PATTERN });

/** The schema of a retention: the time for each kind. */
export const retentionSchema = z.strictObject({
  records: span("runs that have ended are kept with all that belongs to them"),
  payloads: span("payloads of runs that have ended are kept, when that is shorter"),
  logs: span("logs of executions that have ended are kept, when that is shorter"),
  outputs: span("outputs of executions that have ended are kept, when that is shorter"),
}).refine((retention) => Object.keys(retention).length > 0, {
  error: "Expected at least one of records, payloads, logs and outputs",
}).describe(
  "The time for which records are kept, and their payloads, logs and outputs; what is absent is as the project, " +
    "or the service, has it",
);

function span(what: string) {
  return retentionSpanSchema.exactOptional()
    .describe(`The time for which ${what}, such as 90d; ${SPAN_MIN} to ${SPAN_MAX}`);
}
