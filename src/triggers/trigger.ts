/**
 * The record of a trigger, which has one launch URL.
 *
 * @module
 */
import { z } from "zod";
import { actionSchema } from "../actions/mod.ts";
import { handshakesSchema } from "../conditions/handshake/settings.ts";
import { conditionSchema } from "../conditions/mod.ts";
import { ID_PATTERN } from "../platform/ids.ts";
import type { Author } from "../store/records/audit.ts";
import { nameSchema } from "../projects/name_schema.ts";
import { triggerNameSchema } from "./name_schema.ts";
import { isTimeSpan, timeSpan_ms } from "../platform/text/time_span.ts";
import { retentionSchema } from "../runs/retention_schema.ts";
import { maxPayloadSchema } from "./max_payload.ts";
import { callbackSchema } from "./callback_settings.ts";
import { coalesceSchema, concurrencySchema, delaySchema } from "./pace_settings.ts";
import { refusedSchema } from "./refused.ts";
import { responseSchema } from "./response.ts";
import { scheduleSchema } from "./schedule_settings.ts";

/** The longest time for which requests are kept. */
const KEEP_TIME_MAX = "30d";

const CONDITIONS_MAX = 32;
const ACTIONS_MAX = 16;

/** The schema of the time for which requests that are refused or filtered are kept. */
const keepRefusedSchema = z.string().refine(isTimeSpan, {
  error: "Expected a time such as 30m, 24h or 7d",
  abort: true,
}).refine((text) => timeSpan_ms(text) <= timeSpan_ms(KEEP_TIME_MAX), {
  error: `Expected at most ${KEEP_TIME_MAX}`,
}).describe(
  "The time for which requests that are refused or filtered are kept, such as 24h; at most " +
    KEEP_TIME_MAX,
);

/** The schema of a trigger as its owner writes it. */
export const triggerSchema = z.strictObject({
  /** Unique, as no other looks like it; `apply` finds the trigger by it. */
  name: triggerNameSchema,
  /** Part of the launch URL; it never changes. */
  id: z.string().regex(ID_PATTERN, { error: "Expected a UUID in lower case" }).optional(),
  /** The project whose steps its actions run. */
  project: nameSchema,
  enabled: z.boolean().default(true),
  /** The longest payload; that of the service where none is given. */
  max_payload: maxPayloadSchema.optional(),
  /** All of them must pass. */
  conditions: z.array(conditionSchema).max(CONDITIONS_MAX).default([]),
  /** Answers to a provider that checks the URL. */
  handshakes: handshakesSchema.optional(),
  /** Run in this order; a later one runs even if an earlier one failed. */
  actions: z.array(actionSchema).min(1).max(ACTIONS_MAX),
  /** The older name of `refused.filter`. */
  filtered: z.strictObject({ status: z.int().min(200).max(299) }).describe(
    "The older name of refused.filter",
  ).optional(),
  /** The status of refusals by their cause; 400 by default. */
  refused: refusedSchema.optional(),
  /** The time for which requests that are refused or filtered are kept as they came; none when absent. */
  keep_refused: keepRefusedSchema.optional(),
  /** The time for which its records are kept; that of its project or of the service where none is given. */
  retention: retentionSchema.optional(),
  /** The answer to an accepted request. */
  response: responseSchema.optional(),
  /** Tells the sender when the run and its work have ended. */
  callback: callbackSchema.optional(),
  /** Runs that arrive together become one. */
  coalesce: coalesceSchema.optional(),
  /** The most runs with work under way. */
  concurrency: concurrencySchema.optional(),
  /** The time before a run is performed. */
  delay: delaySchema.optional(),
  /** The times at which it launches by itself. */
  schedule: scheduleSchema.optional(),
});

/** A trigger as its owner writes it, defaults filled in, secrets in clear. */
export type TriggerSettings = z.infer<typeof triggerSchema>;

/** A trigger with the fields that the service adds. Times are RFC 3339. */
export interface Trigger extends TriggerSettings {
  id: string;
  created_at: string;
  updated_at: string;
  /** The time at which it came into its project; absent when it was made there. */
  moved_at?: string;
  /** The operator who made it, and the one who changed it last; absent where an earlier version did that. */
  created_by?: Author;
  updated_by?: Author;
  /** The configuration file that it was applied from last; absent for one that only the API has saved. */
  file?: string;
  /** The number of times that it was saved. */
  revision: number;
}
