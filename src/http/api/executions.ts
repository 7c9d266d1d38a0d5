/**
 * `/api/v0/executions/`: the executions, what they printed and what they left behind.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { accepts } from "@hono/hono/accepts";
import { STATUS_CODE } from "@std/http/status";
import type { Engine, LogLine } from "../../engines/engine.ts";
import { idTime, lowestId } from "../../platform/ids.ts";
import { parseWith } from "../../platform/schema.ts";
import {
  datumId,
  type Execution,
  getExecution,
  type InputFile,
  listExecutions,
} from "../../store/records/executions.ts";
import type { Listed, Page } from "../../store/lists.ts";
import { type TokenCheck, tokenOf } from "./auth.ts";
import { finder } from "./finder.ts";
import { type AnswerPage, pageAnswer, pageOf } from "./page_answer.ts";
import {
  END_ID,
  LogStreams,
  type LogStreamsOptions,
  offsetOf,
  STREAM_HEADERS,
} from "./log_stream.ts";
import type { Operator } from "./operator.ts";
import { outputAnswer } from "./outputs.ts";
import { executionQuery, logCursorSchema, logQuery, readQuery } from "./queries.ts";
import { search } from "./search.ts";

/** How logs are followed, and until when. */
export interface FollowOptions extends Omit<LogStreamsOptions, "store" | "clock"> {
  isKnownToken: TokenCheck;
}

/** The routes below `/api/v0/executions`. */
export function executionRoutes(
  operator: Operator,
  { isKnownToken, ...options }: FollowOptions,
): Hono {
  const { store, engines, clock, baseUrl } = operator;
  const streams = new LogStreams({ store, clock, ...options });
  const found = finder("execution", (id) => getExecution(store, id));
  const engineOf = ({ engine }: Execution) => engines.of(engine.type);

  return new Hono({ strict: false })
    .get("/", async (context) => {
      const { records, next } = await listed(operator, context);
      return pageAnswer(context, baseUrl(), records.map(show), next);
    })
    .get("/:id", async (context) => context.json(show(await found(context))))
    .get("/:id/log", async (context) => {
      const execution = await found(context);
      const { follow, ...part } = readQuery(context, logQuery);
      const engine = engineOf(execution);
      return follow
        ? followAnswer(context, { streams, isKnownToken }, { engine, execution, ...part })
        : await logAnswer(context, baseUrl(), { engine, execution, ...part });
    })
    .get("/:id/outputs/:path{[^]+}", async (context) => {
      const execution = await found(context);
      const path = context.req.param("path");
      return await outputAnswer(context, execution, { engine: engineOf(execution), path });
    })
    .post("/:id/stop", async (context) => {
      const execution = await found(context);
      await engineOf(execution).stop(execution.id);
      return context.json(show(await found(context)), STATUS_CODE.Accepted);
    });
}

async function listed({ store }: Operator, context: Context): Promise<Listed<Execution>> {
  const { limit, cursor, project, status, pipeline } = readQuery(context, executionQuery);
  const read = (page: Page) => listExecutions(store, page);
  const isAll = project === undefined && status === undefined && pipeline === undefined;
  if (isAll) return await search(read, { limit, cursor });
  // The ids of a pipeline's executions derive from its own and carry its time.
  const [oldest, end] = pipeline === undefined
    ? ["", undefined]
    : [lowestId(idTime(pipeline)), lowestId(idTime(pipeline) + 1)];
  return await search(read, {
    limit,
    cursor: end !== undefined && (cursor === undefined || cursor > end) ? end : cursor,
    matches: (execution) =>
      (project === undefined || execution.project === project) &&
      (status === undefined || execution.status === status) &&
      (pipeline === undefined || execution.pipeline_id === pipeline),
    isPast: ({ id }) => id < oldest,
  });
}

/** A part of a log. */
interface LogPart {
  execution: Execution;
  engine: Engine;
  cursor: string;
  limit: number;
}

/** A page of a log, as JSON. */
export interface LogAnswer extends AnswerPage<LogLine> {
  cursor: string;
}

async function logAnswer(
  context: Context,
  baseUrl: string,
  { execution: { id }, engine, cursor, limit }: LogPart,
): Promise<Response> {
  const after = await offsetOf(engine, id, cursor);
  const { lines, next } = await engine.log(id, { after, limit });
  const type = accepts(context, {
    header: "Accept",
    supports: ["application/json", "text/plain"],
    default: "application/json",
  });
  if (type === "application/json") {
    const more = await engine.log(id, { after: next, limit: 1 });
    const page = pageOf(context, baseUrl, lines, more.lines.length > 0 ? `${next}` : undefined);
    // Also where there is no next page yet: what is printed later begins there.
    const answer: LogAnswer = { ...page, cursor: `${next}` };
    return context.json(answer);
  }
  return context.text(lines.map(({ message }) => `${message}\n`).join(""), 200, {
    "x-content-type-options": "nosniff",
    link: `<?cursor=${next}&limit=${limit}>; rel="next"`,
  });
}

function followAnswer(
  context: Context,
  { streams, isKnownToken }: { streams: LogStreams; isKnownToken: TokenCheck },
  { execution: { id }, engine, cursor }: LogPart,
): Response {
  const lastId = context.req.header("last-event-id");
  // What tells an EventSource not to come again.
  if (lastId === END_ID) return context.body(null, STATUS_CODE.NoContent);
  const from = lastId ? parseWith(logCursorSchema, lastId, "the header Last-Event-ID") : cursor;
  if (context.req.method === "HEAD") return context.body(null, 200, STREAM_HEADERS);
  const token = tokenOf(context);
  const isAllowed = () => isKnownToken(token);
  return context.body(
    streams.follow({ executionId: id, engine, cursor: from, isAllowed }),
    200,
    STREAM_HEADERS,
  );
}

/** An execution as the API shows it: without the credentials in the URLs of its inputs. */
function show(
  { engine_state: _state, traceparent: _trace, note: _note, outputs, inputs, ...execution }:
    Execution,
) {
  const shown = Object.entries(inputs).map(([name, files]): [string, InputFile[]] => [
    name,
    files.map((file) => "url" in file ? { ...file, url: withoutCredentials(file.url) } : file),
  ]);
  return {
    ...execution,
    inputs: Object.fromEntries(shown),
    outputs: outputs.map((output) => ({ ...output, datum_id: datumId(execution.id, output.path) })),
  };
}

/** An execution as the API shows it. */
export type ShownExecution = ReturnType<typeof show>;

function withoutCredentials(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1********@");
}
