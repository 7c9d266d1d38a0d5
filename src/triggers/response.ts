/**
 * What the sender of an accepted request is told.
 *
 * @module
 */
import { z } from "zod";
import type { Answer } from "../conditions/handshake.ts";

const PLACEHOLDER = "{run_id}";
const RESPONSE_BYTES_MAX = 16 * 1024;

const status = z.int().min(200).max(299).optional();

/** The settings of a trigger's response. */
export const responseSchema = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("text"),
    text: z.string().max(RESPONSE_BYTES_MAX),
    status,
  }),
  z.strictObject({
    type: z.literal("json"),
    json: z.json().refine((value) => JSON.stringify(value).length <= RESPONSE_BYTES_MAX, {
      error: `Expected at most ${RESPONSE_BYTES_MAX} bytes of JSON`,
    }),
    status,
  }),
]);

/** The settings of a trigger's response. */
export type ResponseSettings = z.infer<typeof responseSchema>;

/** Makes the answer for one run. */
export type Responder = (runId: string) => Answer;

/** The answer of a trigger that does not set one. */
const DEFAULT_RESPONSE: ResponseSettings = { type: "json", json: { status: "accepted" } };

/**
 * Prepares a trigger's response. `{run_id}` is replaced in a text, and in JSON inside string values
 * at any depth; keys are left alone.
 */
export function prepareResponse(settings: ResponseSettings = DEFAULT_RESPONSE): Responder {
  const status = settings.status ?? 200;
  const contentType = settings.type === "text"
    ? "text/plain; charset=utf-8"
    : "application/json; charset=utf-8";
  const parts = settings.type === "text"
    ? settings.text.split(PLACEHOLDER)
    : splitJson(settings.json);
  return (runId) => ({ status, contentType, body: parts.join(runId) });
}

/** The text of a JSON value, cut at the placeholders in its string values. */
function splitJson(value: unknown): string[] {
  // A marker that no configured text contains tells placeholders in values from those in keys. A run
  // id needs no escaping in JSON, so the pieces can be joined as text.
  const marker = crypto.randomUUID();
  const marked = JSON.stringify(
    value,
    (_key, inner) => typeof inner === "string" ? inner.replaceAll(PLACEHOLDER, marker) : inner,
  );
  return marked.split(marker);
}
