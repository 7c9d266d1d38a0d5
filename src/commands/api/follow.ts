/**
 * Following streams of events, such as an execution's log, with a new connection where one is lost.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import type { LogLine } from "../../engines/engine.ts";
import { messageOf } from "../../platform/errors.ts";
import type { Execution } from "../../store/records/executions.ts";
import { type ApiClient, ApiError, isPassing } from "./client.ts";
import { readEvents, type ServerSentEvent } from "./server_sent_events.ts";

/** The service sends at least a comment every 15 s. */
const STALL_TIMEOUT_MS = 60_000;
const RETRY_TIMEOUT_MS = 60_000;
const RETRY_MS = 1_000;

/** Options of {@linkcode followEvents}. */
interface FollowOptions {
  /** The description of what to follow: it is sent as JSON, by POST. A GET request when absent. */
  sent?: object;
  /** The longest event, in characters. */
  eventLengthMax?: number;
  /** Called with each connection. */
  onConnected?(): void;
}

/** The end of an execution, as the last event says it. */
export type FollowedEnd = Pick<Execution, "status" | "exit_code" | "reason" | "duration"> & {
  /** The attempt that comes behind. */
  next_attempt?: number;
};

/**
 * Follows a log to its end, and yields the lines that come together. After a lost connection it continues
 * behind the last line that came.
 *
 * @throws {ApiError} when the service does not answer for a minute, or there is no such execution
 */
export async function* followLog(
  api: ApiClient,
  executionId: string,
  attempt?: number,
): AsyncGenerator<LogLine[], FollowedEnd> {
  const path = `executions/${executionId}/log/?follow${attemptQuery(attempt)}`;
  for await (const events of followEvents(api, path)) {
    const messages = events.filter(({ event }) => event === "message");
    if (messages.length > 0) yield messages.map(({ data }) => JSON.parse(data));
    const end = events.find(({ event }) => event === "end");
    if (end) return JSON.parse(end.data);
  }
  throw new ApiError("The service ended the log");
}

/** Returns the part of a query that names an attempt. */
export function attemptQuery(attempt: number | undefined): string {
  return attempt === undefined ? "" : `&attempt=${attempt}`;
}

/**
 * Follows a stream of events without an end, and yields those that come together. After a lost connection it
 * continues behind the last event with an id.
 *
 * @throws {ApiError} when the service does not answer for a minute, or there is nothing to follow
 */
export async function* followEvents(
  api: ApiClient,
  path: string,
  { sent, eventLengthMax, onConnected }: FollowOptions = {},
): AsyncGenerator<ServerSentEvent[]> {
  let lastId = "";
  let wasConnected = false;
  let lost_ms: number | undefined;
  for (;;) {
    let failure = new ApiError("The service ended the connection");
    try {
      const answer = await api.open(path, {
        accept: "text/event-stream",
        ...(lastId === "" ? {} : { "last-event-id": lastId }),
      }, sent);
      wasConnected = true;
      onConnected?.();
      lost_ms = undefined;
      for await (const events of eventsOf(answer, eventLengthMax)) {
        lastId = events.at(-1)?.id || lastId;
        yield events;
      }
    } catch (error) {
      if (!(error instanceof ApiError) || !isPassing(error)) throw error;
      // A first connection that fails is an error; a busy service is waited for.
      if (!wasConnected && error.status === undefined) throw error;
      failure = error;
    }
    lost_ms ??= performance.now();
    if (performance.now() - lost_ms > RETRY_TIMEOUT_MS) throw failure;
    await delay(RETRY_MS);
  }
}

/** Reads the events of an answer; a lost connection is an {@linkcode ApiError}. */
async function* eventsOf({ body }: Response, eventLengthMax: number | undefined) {
  if (body === null) return;
  try {
    yield* readEvents(body, { stall_timeout_ms: STALL_TIMEOUT_MS, eventLengthMax });
  } catch (error) {
    throw new ApiError(`The connection was lost: ${messageOf(error)}`);
  }
}
