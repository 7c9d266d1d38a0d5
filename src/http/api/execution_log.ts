/**
 * `/api/v0/executions/<id>/log/`: the lines that an execution printed, a page at a time or live.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { accepts } from "@hono/hono/accepts";
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import type { Engine, LogLine } from "../../engines/engine.ts";
import { RemovedError } from "../../platform/errors.ts";
import { engineIdOf } from "../../store/records/attempts.ts";
import { answer, pageFields, text, time } from "./answer.ts";
import type { Authenticated } from "./auth.ts";
import { existingAttempt } from "./executions.ts";
import { STREAM_HEADERS } from "./event_stream.ts";
import { END_ID, LogSource } from "./log_stream.ts";
import { operation } from "./operation.ts";
import type { Api } from "./api.ts";
import { type AnswerPage, pageOf } from "./page_answer.ts";
import { lastLogEventSchema, logQuery } from "./queries.ts";
import { Records } from "./records.ts";

const logLine = answer<LogLine>()(
  "LogLine",
  z.object({ time, stream: z.enum(["stdout", "stderr", "event"]), message: text }),
);

/** A server-sent event, as clients get it. */
interface LogEvent {
  event: "message" | "end";
  id: string;
  data: string;
}

const logEvent = answer<LogEvent>()(
  "LogEvent",
  z.object({
    event: z.enum(["message", "end"]),
    id: text.describe("The cursor behind the line; `end` in the last event"),
    data: text.meta({ contentMediaType: "application/json" })
      .describe(
        "A LogLine; in the last event the status, exit_code, reason and duration, and next_attempt where it is tried again",
      ),
  }),
);

/** A page of a log, as JSON. */
export interface LogAnswer extends AnswerPage<LogLine> {
  cursor: string;
}

const logPage = answer<LogAnswer>()(
  "LogPage",
  z.object({
    ...pageFields(logLine),
    cursor: text.describe("Where lines that are printed later begin"),
  }),
);

/** The operation that reads or follows a log. */
export const executionLogOperations = [
  operation({
    id: "getExecutionLog",
    method: "get",
    path: "/executions/{id}/log/",
    summary: "Read what an execution printed, or follow it as server-sent events",
    description:
      "Each event has a line as its `data`, in JSON, and a cursor as its `id`. The last event " +
      "is `end`, with the execution's `status`, `exit_code`, `reason` and `duration`, and with " +
      "`next_attempt` where it is tried again: each attempt has a log of its own.",
    query: logQuery,
    headers: { "Last-Event-ID": lastLogEventSchema },
    answers: {
      200: {
        schema: logPage,
        media: { "text/plain": text, "text/event-stream": logEvent },
        headers: { Link: "Where text that is printed later begins" },
      },
      204: { description: "The end was sent before" },
    },
    async perform({ api, context, params: { id }, query }) {
      const { follow, attempt, ...part } = query;
      const execution = await existingAttempt(api.store, id, attempt);
      if (execution.log_removed_at !== undefined) {
        throw new RemovedError(
          `The log was removed at ${execution.log_removed_at}, as its retention says`,
        );
      }
      const log = {
        id: engineIdOf(execution),
        engine: api.engines.of(execution.engine.type),
        ...part,
      };
      if (!follow) return await logAnswer(context, api, log);
      // The caller has put it there.
      const by: Authenticated = context.env;
      // Its trigger may get another name while the log goes on.
      const isAllowed = async () =>
        await by.isAllowed() && await new Records(api, by.access).sees(execution);
      return followAnswer(context, api, { ...log, isAllowed });
    },
  }),
];

/** A part of a log. */
interface LogPart {
  /** The execution's id to its engine. */
  id: string;
  engine: Engine;
  cursor: string;
  limit: number;
}

async function logAnswer(
  context: Context,
  { baseUrl }: Api,
  { id, engine, cursor, limit }: LogPart,
): Promise<Response> {
  const { lines: positioned, next } = await engine.log(id, { after: cursor, limit });
  const lines = positioned.map(({ next: _next, ...line }) => line);
  const type = accepts(context, {
    header: "Accept",
    supports: ["application/json", "text/plain"],
    default: "application/json",
  });
  if (type === "application/json") {
    const more = await engine.log(id, { after: next, limit: 1 });
    const page = pageOf(context, baseUrl(), lines, more.lines.length > 0 ? next : undefined);
    // Given without a next page too: what is printed later begins there.
    const answer: LogAnswer = { ...page, cursor: next };
    return context.json(answer);
  }
  return context.text(lines.map(({ message }) => `${message}\n`).join(""), 200, {
    "x-content-type-options": "nosniff",
    link: `<?cursor=${next}&limit=${limit}>; rel="next"`,
  });
}

function followAnswer(
  context: Context,
  { store, streams }: Api,
  { id, engine, cursor, isAllowed }: LogPart & Pick<Authenticated, "isAllowed">,
): Response {
  const lastId = context.req.header("last-event-id");
  // This status tells an EventSource not to connect again.
  if (lastId === END_ID) return context.body(null, STATUS_CODE.NoContent);
  const from = lastId || cursor;
  if (context.req.method === "HEAD") return context.body(null, 200, STREAM_HEADERS);
  const log = { executionId: id, engine, cursor: from, isAllowed };
  const source = new LogSource(store, log, streams.linesMax);
  return context.body(streams.follow(source), 200, STREAM_HEADERS);
}
