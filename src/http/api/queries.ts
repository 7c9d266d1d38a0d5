/**
 * The queries of lists and logs. The OpenAPI document is made from the same schemas.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { z } from "zod";
import { CAUSE_CODES, CAUSE_GROUPS } from "../../attention/cause.ts";
import { InvalidInputError } from "../../platform/errors.ts";
import { ID_PATTERN, isId } from "../../platform/ids.ts";
import { pointer } from "../../platform/schema/pointer.ts";
import { parseWith } from "../../platform/schema/schema.ts";
import { nameSchema } from "../../projects/name_schema.ts";
import { REFUSERS } from "../../conditions/kinds.ts";
import { DELIVERY_OUTCOMES } from "../../store/records/deliveries.ts";
import { EXECUTION_STATUSES } from "../../store/records/executions.ts";
import { NOTIFICATION_STATUSES } from "../../store/records/notifications.ts";
import { PIPELINE_STATUSES } from "../../store/records/pipelines.ts";
import { WORK_STATES } from "../../runs/work_state.ts";
import { retentionSpanSchema } from "../../runs/retention_schema.ts";
import { RUN_STATUSES } from "../../store/records/runs.ts";
import { formerIdByName, getStoredTrigger, triggerIdByName } from "../../store/records/triggers.ts";
import type { Store } from "../../store/store.ts";
import { triggerNameText } from "../../triggers/name_schema.ts";

const LIMIT_MAX = 200;
const LOG_LINES_MAX = 10_000;
const ATTEMPTS_MAX = 99;

/** A full id. */
export const idSchema = z.string().regex(ID_PATTERN, {
  error: "Expected a full id, a UUID in lower case",
});
const tokenIdSchema = z.string().regex(/^[0-9a-f]{16}$/, {
  error: "Expected the id of a token, 16 hexadecimal digits",
});
const nameOrIdSchema = triggerNameText.optional().describe(
  "Only those of this trigger, by its name or id",
);

const limit = wholeNumberTo(LIMIT_MAX).default(50)
  .describe("How many results at most; 50 when absent");
/** The page of a list of records with ids. */
const page = { limit, cursor: cursor(idSchema) };
const project = nameSchema.optional().describe("Only those of this project");

/** A switch, on when it has no value. */
const flag = z.enum(["", "true", "false"]).default("false").transform((text) => text !== "false");

/** Picks what has failed for good. */
const dead = z.union([z.enum(["", "true", "false"]), z.boolean()]).optional()
  .transform((value) =>
    value === undefined || value === "false" || value === false ? undefined : true
  )
  .describe("Only those that are dead: they have failed, and `retry` tries nothing of them again");

/** The query of changes. */
export const saveQuery = z.strictObject({
  dry_run: z.enum(["", "true", "false"]).default("false").transform((text) => text !== "false")
    .describe("Validate the change and answer with its result, and store nothing"),
});

/** The query of changes of triggers. */
export const triggerSaveQuery = saveQuery.extend({
  file: z.string().min(1).max(1_024).optional().describe(
    "The configuration file that the change comes from: it owns the trigger then. The owner stays when absent",
  ),
});

/** The query of lists of records with ids. */
export const listQuery = z.strictObject(page);

/** The query of `GET /triggers/`. */
export const triggerQuery = z.strictObject({
  ...page,
  name: triggerNameText.optional().describe("Only the one with this name"),
  activity: flag.describe("Count each one's deliveries in the last 24 hours, too"),
});

/** The query of `GET /projects/`. */
export const projectQuery = z.strictObject({ limit, cursor: cursor(nameSchema) });

/** The query of `GET /notifiers/`. */
export const notifierQuery = projectQuery;

/** The query of `GET /notifications/`. */
export const notificationQuery = z.strictObject({
  ...page,
  notifier: nameSchema.optional().describe("Only those of this notifier"),
  status: z.enum(NOTIFICATION_STATUSES).optional().describe("Only those with this status"),
});

/** The query of `GET /tokens/`. */
export const tokenQuery = z.strictObject({ limit, cursor: cursor(tokenIdSchema) });

/** The query of `GET /sessions/`, whose ids are like those of tokens. */
export const sessionQuery = tokenQuery;

/** The query of `GET /runs/`. */
export const runQuery = z.strictObject({
  ...page,
  trigger: nameOrIdSchema,
  project,
  status: statusOf(RUN_STATUSES, "completed", "complete"),
  work: z.enum(WORK_STATES).optional().describe("Only those whose work is in this state"),
  dead,
});

/** The query of `GET /audit/`. */
export const auditQuery = z.strictObject({
  ...page,
  operation: z.string().max(64).optional().describe(
    "Only those of this operation, by its operationId",
  ),
});

const filterText = z.string().min(1).max(200);
/** A time (RFC 3339), read as milliseconds since the epoch. */
export const timeSchema = z.iso.datetime({
  offset: true,
  error: "Expected a time such as 2026-01-31T12:00:00Z",
}).transform((text) => Date.parse(text));

/** The query of `GET /deliveries/`. */
export const deliveryQuery = z.strictObject({
  ...page,
  trigger: nameOrIdSchema,
  outcome: z.enum(DELIVERY_OUTCOMES).optional().describe("Only those with this outcome"),
  condition: z.enum(REFUSERS).optional().describe("Only those that this has refused"),
  from: timeSchema.optional().describe("Only those of this time (RFC 3339) or later"),
  to: timeSchema.optional().describe("Only those before this time"),
  delivery_id: filterText.optional().describe("Only those with this id of the sender"),
  text: filterText.optional().describe(
    "Only those with this text in an id, or in the first 256 KiB of a body that is kept",
  ),
  dead,
  follow: flag.describe("Answer with server-sent events: the deliveries that come from now on"),
  only_changes: flag.describe(
    "With `follow`: events without a delivery, which say that any has come or changed, whatever the filters",
  ),
});

/** The outcomes of deliveries that can be launched again. */
const REPLAYABLE = ["accepted", "refused", "filtered"] as const;

/** The filter of a replay: the deliveries to launch again. */
export const replayFilter = z.strictObject({
  trigger: nameOrIdSchema,
  outcome: z.enum(REPLAYABLE).optional().describe(
    "Those with this outcome; accepted when absent. Of refused and filtered ones, those that are kept",
  ),
  condition: z.enum(REFUSERS).optional().describe("Only those that this has refused"),
  from: timeSchema.optional().describe("Only those of this time (RFC 3339) or later"),
  to: timeSchema.optional().describe("Only those before this time"),
  delivery_id: filterText.optional().describe("Only those with this id of the sender"),
  text: filterText.optional().describe("Only those with this text in an id or in the body"),
  dead,
});

/** The query of lists of records with ids. */
export const idQuery = z.strictObject(page);

/** The query of `GET /executions/`. */
export const executionQuery = z.strictObject({
  ...page,
  project,
  status: statusOf(EXECUTION_STATUSES, "complete", "completed"),
  pipeline: idSchema.optional().describe("Only those of this pipeline, by its id"),
  trigger: nameOrIdSchema,
  dead,
});

/** A number of an attempt. */
const attempt = wholeNumberTo(ATTEMPTS_MAX).optional()
  .describe("The number of the attempt, from 1; the last one when absent");

/** The query of what is kept of one attempt. */
export const attemptQuery = z.strictObject({ attempt });

/** The query of `GET /retention/`. */
export const retentionQuery = z.strictObject({
  limit: wholeNumberTo(LIMIT_MAX).default(20)
    .describe("How many records each kind names at most, the oldest; 20 when absent"),
  trigger: nameOrIdSchema,
  project: nameSchema.optional().describe("Only records of this project"),
  records: retentionSpanSchema.optional().describe(
    "Another retention to try, such as 7d: that of `trigger`, else of `project`, else of the service",
  ),
  payloads: retentionSpanSchema.optional().describe("Likewise for payloads alone"),
  logs: retentionSpanSchema.optional().describe("Likewise for logs of executions alone"),
  outputs: retentionSpanSchema.optional().describe("Likewise for outputs alone"),
});

/** The query of `GET /failures/`. */
export const failureQuery = z.strictObject({ project });

/** The place in the list of causes: a trigger, none before the first, and the number of its causes. */
const CAUSE_CURSOR = /^(?:[0-9a-f-]{36})?\.\d{1,6}$/;

/** The query of `GET /attention/`. */
export const attentionQuery = z.strictObject({
  limit,
  cursor: cursor(
    z.string().regex(CAUSE_CURSOR, { error: "Expected the cursor of a next page" }),
  ),
  group: z.enum(CAUSE_GROUPS).optional().describe("Only those of this group"),
  code: z.enum(CAUSE_CODES).optional().describe("Only those with this code"),
  trigger: nameOrIdSchema,
  project: nameSchema.optional().describe("Only those of this project and its triggers"),
  dismissed: flag.describe("Warnings that were dismissed, in place of what needs attention"),
});

/** The query of `GET /pipelines/`. */
export const pipelineQuery = z.strictObject({
  ...page,
  project,
  status: statusOf(PIPELINE_STATUSES, "complete", "completed"),
  trigger: nameOrIdSchema,
  dead,
});

/** A byte offset that any file system knows, and how many lines after it. */
const LOG_CURSOR = /^\d{1,12}(?:\.\d{1,5})?$/;

/** A cursor of a log. */
const logCursorSchema = z.string().regex(LOG_CURSOR, {
  error: "Expected a cursor that came with this log",
});

/** The header with which a client goes on with a log. */
export const lastLogEventSchema = z.string()
  .regex(new RegExp(`^$|^end$|${LOG_CURSOR.source}`), {
    error: "Expected a cursor that came with this log",
  }).describe("The id of the last event that was received, `end` included");

/** The header with which a client goes on with a stream of records. */
export const lastIdSchema = z.string().regex(new RegExp(`^$|${ID_PATTERN.source}`), {
  error: "Expected a full id, a UUID in lower case",
}).describe("With `follow`: the id of the last event that was received");

/** The query of `GET /executions/<id>/log/`. */
export const logQuery = z.strictObject({
  limit: wholeNumberTo(LOG_LINES_MAX).default(1_000)
    .describe("How many lines at most; 1000 when absent"),
  cursor: logCursorSchema.default("0").describe("Where to start; the first line when absent"),
  follow: flag.describe(
    "Answer with server-sent events until the execution has ended, or this attempt of it",
  ),
  attempt,
});

/**
 * Reads the query of a request.
 *
 * @param changed parameters in place of those that were sent
 * @throws {InvalidInputError} with everything that is wrong with it
 */
export function readQuery<T>(context: Context, schema: z.ZodType<T>, changed = {}): T {
  const repeated = Object.entries(context.req.queries()).filter(([, { length }]) => length > 1);
  if (repeated.length > 0) {
    throw new InvalidInputError(
      "the query",
      repeated.map(([name, { length }]) => ({
        pointer: pointer(name),
        detail: `Expected one value, found ${length}`,
      })),
    );
  }
  return parseWith(schema, { ...context.req.query(), ...changed }, "the query");
}

/**
 * Returns the id of the trigger that a filter names; undefined without a filter.
 *
 * @throws {InvalidInputError} when no trigger has the name
 */
export async function triggerIdOf(
  store: Store,
  nameOrId: string | undefined,
): Promise<string | undefined> {
  if (nameOrId === undefined) return undefined;
  // An id wins: an earlier version took names like ids.
  if (isId(nameOrId) && await getStoredTrigger(store, nameOrId)) return nameOrId;
  const id = await triggerIdByName(store, nameOrId);
  if (id !== undefined) return id;
  const formerId = await formerIdByName(store, nameOrId);
  if (formerId !== undefined) return formerId;
  // The records of a deleted trigger are still found by its id.
  if (isId(nameOrId)) return nameOrId;
  const detail =
    `Expected the name or the id of a trigger, found "${nameOrId}", which no trigger has`;
  throw new InvalidInputError("the query", [{ pointer: "/trigger", detail }]);
}

/** The start of a page. An empty cursor means the first page. */
function cursor(schema: z.ZodString) {
  return z.union([schema, z.literal("")]).optional().transform((text) => text || undefined)
    .describe("The `cursor` of the address of the next page; the first page when absent");
}

/** A status to pick records by. The word that others have for the same state means the same. */
function statusOf<const Status extends string>(
  statuses: readonly Status[],
  status: NoInfer<Status>,
  other: string,
) {
  return z.enum([...statuses, other])
    // All values but the other word are statuses.
    .transform((word) => word === other ? status : word as Status)
    .optional()
    .describe(`Only those with this status; ${other} means ${status}`);
}

/** A whole number from 1 on, as text. */
export function wholeNumberTo(max: number) {
  return z.string()
    .refine((text) => /^\d{1,9}$/.test(text) && Number(text) >= 1 && Number(text) <= max, {
      error: `Expected a whole number from 1 to ${max}`,
    })
    .meta({ type: "integer", minimum: 1, maximum: max })
    .transform(Number);
}
