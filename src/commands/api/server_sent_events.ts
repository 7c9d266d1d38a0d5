/**
 * Reading server-sent events (WHATWG HTML, "Server-sent events").
 *
 * @module
 */
import { deadline } from "@std/async/deadline";
import { createParser } from "eventsource-parser";
import { ApiError } from "./client.ts";
import { ignoreTimeout } from "../../platform/waiting/promises.ts";

const EVENT_LENGTH_MAX = 4 * 1024 * 1024;

/** One event. */
export interface ServerSentEvent {
  /** Its type; `message` when it names none. */
  event: string;
  data: string;
  /** Its id, or that of the latest event with one. */
  id: string;
}

/**
 * Reads the events of an answer, and yields those that come together. An event that is cut off at the end
 * is left out: it comes again.
 *
 * @param stall_timeout_ms the longest time without anything, not even a comment
 * @param eventLengthMax the longest event, in characters; 4 Mi when absent
 * @throws {ApiError} when nothing comes, or an event is too long; other errors when the connection is lost
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { stall_timeout_ms, eventLengthMax = EVENT_LENGTH_MAX }: {
    stall_timeout_ms: number;
    eventLengthMax?: number | undefined;
  },
): AsyncGenerator<ServerSentEvent[]> {
  let events: ServerSentEvent[] = [];
  let id = "";
  const parser = createParser({
    maxBufferSize: eventLengthMax,
    onEvent: ({ event = "message", data, id: own = id }) => {
      id = own;
      events.push({ event, data, id });
    },
    onError: (error) => {
      if (error.type !== "max-buffer-size-exceeded") return;
      throw new ApiError(`An event is longer than ${eventLengthMax} characters`);
    },
  });
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const read = await deadline(reader.read(), stall_timeout_ms).catch(ignoreTimeout);
      if (read === undefined) throw new ApiError(`Nothing came for ${stall_timeout_ms / 1_000} s`);
      if (read.done) return;
      events = [];
      parser.feed(read.value);
      if (events.length > 0) yield events;
    }
  } finally {
    await reader.cancel().catch(() => {
      // The connection is lost already.
    });
  }
}
