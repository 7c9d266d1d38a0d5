/**
 * Answers to HEAD.
 *
 * @module
 */

/** The statuses of answers that have no body, to GET neither. */
const EMPTY_STATUSES: readonly number[] = [204, 304];

/**
 * An answer to HEAD without a length, where it names none. Hono has taken its body away, and Deno would
 * say that GET is answered with no bytes: to leave the length out is right (RFC 9110, section 8.6).
 */
export async function withoutLength(answer: Response | Promise<Response>): Promise<Response> {
  const { status, headers } = await answer;
  if (headers.has("content-length") || EMPTY_STATUSES.includes(status)) return answer;
  return new Response(ReadableStream.from([]), { status, headers });
}
