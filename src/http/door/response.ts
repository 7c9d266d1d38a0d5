/**
 * Answers as HTTP responses.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import type { Answer } from "../../conditions/answer.ts";
import { sentStatus } from "../../triggers/sent_status.ts";

/** No browser runs anything in these. */
const INERT = /^(?:text\/plain|application\/json)\b/i;

/** Makes the response of an answer. What a browser may show as a page is kept from the console of its origin. */
export function responseOf({ status, contentType, body, headers }: Answer): Response {
  const sent = sentStatus(status);
  const isInert = INERT.test(contentType);
  return new Response(sent === STATUS_CODE.NoContent ? null : body, {
    status: sent,
    headers: {
      ...headers,
      "content-type": contentType,
      "x-content-type-options": "nosniff",
      ...(isInert ? {} : { "content-security-policy": "sandbox; default-src 'none'" }),
    },
  });
}
