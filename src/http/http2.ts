/**
 * Answers over HTTP/2 to senders that still send. The server may end such an answer with RST_STREAM (RFC
 * 9113 section 8.1), and Deno does; curl 7.88, Node, Java and httpx then miss the answer.
 *
 * @module
 */
import { systemClock } from "../platform/clock.ts";
import { within } from "../platform/waiting/timers.ts";

/** The time in which a sender sees an answer and stops sending. */
const GRACE_MS = 1_000;

/**
 * Returns whether a request came over HTTP/2, which has `:authority` in the place of the header `Host`.
 * Nothing else in Deno 2.9 tells; a request over HTTP/1.0 may look the same.
 */
export function isHttp2(headers: Headers): boolean {
  return !headers.has("host");
}

/** Makes an answer that begins at once and ends when no more of the body comes, or after a second. */
export async function endAfter(
  rest: Promise<unknown> | undefined,
  answer: Response,
): Promise<Response> {
  if (rest === undefined) return answer;
  const text = await answer.bytes();
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(text);
      await within(systemClock, GRACE_MS, rest);
      controller.close();
    },
  });
  return new Response(body, answer);
}
