/**
 * What can be asked for behind the `?` of the operators' lists and logs. The description of the API is
 * made from the same schemas.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { z } from "zod";
import { isId } from "../../platform/ids.ts";
import { nameSchema } from "../../projects/name_schema.ts";
import { parseWith } from "../../platform/schema.ts";
import { EXECUTION_STATUSES } from "../../store/records/executions.ts";
import { PIPELINE_STATUSES } from "../../store/records/pipelines.ts";

const LIMIT_MAX = 200;
const LOG_LINES_MAX = 10_000;
/** A cursor becomes part of a key, and the database refuses long ones. */
const CURSOR_LENGTH_MAX = 256;

const idSchema = z.string().refine(isId, { error: "Expected a full id, a UUID in lower case" });

/** Lists of what has an id: the cursor is the id of the last one that was looked at, or empty. */
const page = {
  limit: wholeNumberTo(LIMIT_MAX).default(50),
  cursor: cursor(z.union([idSchema, z.literal("")])),
};

/** What every other list takes; the cursor is what came with the page before, or empty. */
export const listQuery = z.strictObject({
  limit: page.limit,
  cursor: cursor(z.string().max(CURSOR_LENGTH_MAX)),
});

/** What `GET /executions/` takes. */
export const executionQuery = z.strictObject({
  ...page,
  project: nameSchema.optional(),
  status: z.enum(EXECUTION_STATUSES).optional(),
  pipeline: idSchema.optional(),
});

/** What `GET /pipelines/` takes. */
export const pipelineQuery = z.strictObject({
  ...page,
  project: nameSchema.optional(),
  status: z.enum(PIPELINE_STATUSES).optional(),
});

/** Where to read on in a log: a byte offset that any file system knows, and how many lines behind it. */
const LOG_CURSOR = /^\d{1,12}(?:\.\d{1,5})?$/;

/** A cursor of a log. */
export const logCursorSchema = z.string().regex(LOG_CURSOR, {
  error: "Expected a cursor that came with this log",
});

/** What `GET /executions/<id>/log/` takes. */
export const logQuery = z.strictObject({
  limit: wholeNumberTo(LOG_LINES_MAX).default(1_000),
  cursor: logCursorSchema.default("0"),
  follow: z.enum(["", "true", "false"]).default("false").transform((text) => text !== "false"),
});

/**
 * Reads the query of a request.
 *
 * @throws {InvalidInputError} with everything that is wrong with it
 */
export function readQuery<T>(context: Context, schema: z.ZodType<T>): T {
  return parseWith(schema, context.req.query(), "the query");
}

/** Where to begin; an empty one means the first page. */
function cursor(schema: z.ZodType<string, string>) {
  return schema.optional().transform((text) => text || undefined);
}

/** A whole number from 1 on, as text. */
function wholeNumberTo(max: number) {
  return z.string()
    .refine((text) => /^\d{1,9}$/.test(text) && Number(text) >= 1 && Number(text) <= max, {
      error: `Expected a whole number from 1 to ${max}`,
    })
    .meta({ type: "integer", minimum: 1, maximum: max })
    .transform(Number);
}
