/**
 * Answers to HEAD.
 *
 * @module
 */

/** The statuses of answers that have no body, whatever the method. */
const EMPTY_STATUSES: readonly number[] = [204, 304];

/**
 * Leaves the length out of an answer to HEAD that has none. Hono has removed its body, and Deno would
 * declare a length of 0, as if GET had no body (RFC 9110 section 8.6).
 */
export async function withoutLength(answer: Response | Promise<Response>): Promise<Response> {
  const { status, headers } = await answer;
  if (headers.has("content-length") || EMPTY_STATUSES.includes(status)) return answer;
  return new Response(ReadableStream.from([]), { status, headers });
}
