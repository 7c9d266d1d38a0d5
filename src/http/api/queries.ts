/**
 * The queries of lists and logs. The OpenAPI document is made from the same schemas.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { z } from "zod";
import { isId } from "../../platform/ids.ts";
import { nameSchema } from "../../projects/name_schema.ts";
import { parseWith } from "../../platform/schema/schema.ts";
import { EXECUTION_STATUSES } from "../../store/records/executions.ts";
import { PIPELINE_STATUSES } from "../../store/records/pipelines.ts";

const LIMIT_MAX = 200;
const LOG_LINES_MAX = 10_000;
/** A cursor becomes part of a key, and the database refuses long ones. */
const CURSOR_LENGTH_MAX = 256;

const idSchema = z.string().refine(isId, { error: "Expected a full id, a UUID in lower case" });

/** Lists of records with ids: the cursor is the id of the last record that was read, or empty. */
const page = {
  limit: wholeNumberTo(LIMIT_MAX).default(50).describe("How many results at most; 50 when absent"),
  cursor: cursor(z.union([idSchema, z.literal("")])),
};

/** The query of every other list. The cursor came with the page before, or is empty. */
export const listQuery = z.strictObject({
  limit: page.limit,
  cursor: cursor(z.string().max(CURSOR_LENGTH_MAX)),
});

/** The query of `GET /executions/`. */
export const executionQuery = z.strictObject({
  ...page,
  project: nameSchema.optional().describe("Only those of this project"),
  status: z.enum(EXECUTION_STATUSES).optional().describe("Only those with this status"),
  pipeline: idSchema.optional().describe("Only those of this pipeline, by its id"),
});

/** The query of `GET /pipelines/`. */
export const pipelineQuery = z.strictObject({
  ...page,
  project: nameSchema.optional().describe("Only those of this project"),
  status: z.enum(PIPELINE_STATUSES).optional().describe("Only those with this status"),
});

/** A byte offset that any file system knows, and how many lines after it. */
const LOG_CURSOR = /^\d{1,12}(?:\.\d{1,5})?$/;

/** A cursor of a log. */
export const logCursorSchema = z.string().regex(LOG_CURSOR, {
  error: "Expected a cursor that came with this log",
});

/** The query of `GET /executions/<id>/log/`. */
export const logQuery = z.strictObject({
  limit: wholeNumberTo(LOG_LINES_MAX).default(1_000)
    .describe("How many lines at most; 1000 when absent"),
  cursor: logCursorSchema.default("0").describe("Where to start; the first line when absent"),
  follow: z.enum(["", "true", "false"]).default("false").transform((text) => text !== "false")
    .describe("Answer with server-sent events until the execution has ended"),
});

/**
 * Reads the query of a request.
 *
 * @throws {InvalidInputError} with everything that is wrong with it
 */
export function readQuery<T>(context: Context, schema: z.ZodType<T>): T {
  return parseWith(schema, context.req.query(), "the query");
}

/** The start of a page. An empty cursor means the first page. */
function cursor(schema: z.ZodType<string, string>) {
  return schema.optional().transform((text) => text || undefined)
    .describe("The `cursor` of the address of the next page; the first page when absent");
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
