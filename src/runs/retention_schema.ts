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

/** The schema of a span for which something is kept. */
export const retentionSpanSchema = z.string().refine(isTimeSpan, {
  error: "Expected a time such as 12h or 90d",
  abort: true,
}).refine(
  (text) =>
    timeSpan_ms(text) >= timeSpan_ms(SPAN_MIN) && timeSpan_ms(text) <= timeSpan_ms(SPAN_MAX),
  { error: `Expected ${SPAN_MIN} to ${SPAN_MAX}` },
);

/** The schema of a retention. */
export const retentionSchema = z.strictObject({
  records: retentionSpanSchema.describe(
    `The time for which runs that have ended are kept with all that belongs to them, such as 90d; ${SPAN_MIN} to ${SPAN_MAX}`,
  ),
}).describe(
  "The time for which records are kept; that of the project or of the service when absent",
);
