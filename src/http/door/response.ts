/**
 * Answers as HTTP responses.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import type { Answer } from "../../conditions/answer.ts";
import { sentStatus } from "../../triggers/sent_status.ts";

/** Makes the response of an answer. */
export function responseOf({ status, contentType, body, headers }: Answer): Response {
  const sent = sentStatus(status);
  return new Response(sent === STATUS_CODE.NoContent ? null : body, {
    status: sent,
    headers: { ...headers, "content-type": contentType, "x-content-type-options": "nosniff" },
  });
}
