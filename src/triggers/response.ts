/**
 * The answer to an accepted request.
 *
 * @module
 */
import { z } from "zod";
import { type Answer, contentTypeOf } from "../conditions/answer.ts";
import {
  ANSWER_BYTES_MAX,
  answerHeadersSchema,
  answerJsonSchema,
  answerStatusSchema,
  contentTypeSchema,
} from "../conditions/answer_schema.ts";
import { refuseField } from "../platform/schema/schema.ts";

const PLACEHOLDER = "{run_id}";
/** A text that looks like a placeholder. */
const PLACEHOLDERS = /\{\s*[a-z][\w.:-]*\s*\}/gi;

const common = {
  status: answerStatusSchema,
  headers: answerHeadersSchema,
  content_type: contentTypeSchema,
};

/** The settings of a trigger's response. */
export const responseSchema = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.enum(["text", "xml"]),
    text: z.string().max(ANSWER_BYTES_MAX),
    ...common,
  }).superRefine(({ text, headers }, context) => {
    checkPlaceholders(text, ["text"], context);
    checkPlaceholders(headers, ["headers"], context);
  }),
  z.strictObject({ type: z.literal("json"), json: answerJsonSchema, ...common })
    .superRefine(({ json, headers }, context) => {
      checkPlaceholders(json, ["json"], context);
      checkPlaceholders(headers, ["headers"], context);
    }),
]);

/** Refuses placeholders other than `{run_id}` in texts at any depth: they would be sent as they are. */
function checkPlaceholders(value: unknown, path: PropertyKey[], context: z.RefinementCtx): void {
  if (Array.isArray(value)) {
    for (const [index, inner] of value.entries()) {
      checkPlaceholders(inner, [...path, index], context);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      checkPlaceholders(inner, [...path, key], context);
    }
  } else if (typeof value === "string") {
    const other = value.match(PLACEHOLDERS)?.find((text) => text !== PLACEHOLDER);
    if (other !== undefined) {
      refuseField(context, path, `Expected no placeholder but ${PLACEHOLDER}, found ${other}`);
    }
  }
}

/** The settings of a trigger's response. */
type ResponseSettings = z.infer<typeof responseSchema>;

/** Makes the answer for a run. */
export type Responder = (runId: string) => Answer;

/** The answer of a trigger that does not set one. */
const DEFAULT_RESPONSE: ResponseSettings = { type: "json", json: { status: "accepted" } };

/**
 * Prepares a trigger's response. `{run_id}` is replaced in a text, and in JSON inside string values
 * at any depth; keys are left alone.
 */
export function prepareResponse(settings: ResponseSettings = DEFAULT_RESPONSE): Responder {
  const { status = 200, headers = {} } = settings;
  const answer = { status, contentType: settings.content_type ?? contentTypeOf(settings.type) };
  const parts = settings.type === "json"
    ? splitJson(settings.json)
    : settings.text.split(PLACEHOLDER);
  if (Object.keys(headers).length === 0) return (runId) => ({ ...answer, body: parts.join(runId) });
  return (runId) => ({
    ...answer,
    body: parts.join(runId),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replaceAll(PLACEHOLDER, runId)]),
    ),
  });
}

/** Returns the text of a JSON value, cut at the placeholders in its string values. */
function splitJson(value: unknown): string[] {
  // The marker tells placeholders in values from those in keys. A run's id needs no escaping in JSON, so
  // the pieces can be joined as text.
  const marker = crypto.randomUUID();
  const marked = JSON.stringify(
    value,
    (_key, inner) => typeof inner === "string" ? inner.replaceAll(PLACEHOLDER, marker) : inner,
  );
  return marked.split(marker);
}
