/**
 * `/api/v0/runs/`: everything about a run, its payload, and launching it again.
 *
 * @module
 */
import { Hono } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { ConflictError } from "../../platform/errors.ts";
import { readPayload } from "../../store/records/payloads.ts";
import { getRun, type Run } from "../../store/records/runs.ts";
import { requestTracer } from "../request_spans.ts";
import { finder } from "./finder.ts";
import type { Operator } from "./operator.ts";

/** The path of a replay, for traces. */
const REPLAY_ROUTE = "/api/v0/runs/{id}/replay/";

/** The routes below `/api/v0/runs`. */
export function runRoutes(operator: Operator): Hono {
  const { store } = operator;
  const found = finder("run", (id) => getRun(store, id));
  const trace = requestTracer();

  return new Hono({ strict: false })
    .get("/:id", async (context) => context.json(await found(context)))
    .get("/:id/payload", async (context) => {
      const { id, payload } = await found(context);
      const chunks = readPayload(store, id, payload.size, payload.sha256);
      // When this cannot be read, there is still an answer that says so.
      const first = await chunks.next();
      return context.body(
        ReadableStream.from(goingOn(first, chunks)),
        200,
        {
          // Never what the sender called it: a browser must not run a payload as a page of ours.
          "content-type": "application/octet-stream",
          "content-disposition": `attachment; filename="payload-${id}"`,
          "content-length": String(payload.size),
        },
      );
    })
    .post("/:id/replay", (context) => {
      const answer = async () => {
        const replay = await replayRun(operator, await found(context));
        return context.json(replay, STATUS_CODE.Created, {
          location: `${operator.baseUrl()}/api/v0/runs/${replay.id}/`,
        });
      };
      const traceparent = context.req.header("traceparent");
      return trace?.({ method: "POST", route: REPLAY_ROUTE, traceparent }, answer) ?? answer();
    });
}

async function* goingOn<T>(first: IteratorResult<T>, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  if (first.done) return;
  yield first.value;
  yield* rest;
}

/** Launches the payload of a run again, with the trigger's actions and quotas of today. */
async function replayRun(operator: Operator, run: Run): Promise<Run> {
  const { store } = operator;
  const body = new Uint8Array(run.payload.size);
  let offset = 0;
  for await (const chunk of readPayload(store, run.id, run.payload.size, run.payload.sha256)) {
    body.set(chunk, offset);
    offset += chunk.length;
  }
  return await launchAgain(operator, run, body);
}

async function launchAgain(operator: Operator, run: Run, body: Uint8Array): Promise<Run> {
  const { triggers, acceptor } = operator;
  // Behind the payload: it may be changed, or deleted, while that is read.
  const prepared = await triggers.prepared(run.trigger_id);
  if (prepared === undefined) {
    throw new ConflictError(`Cannot replay run ${run.id}: its trigger was deleted`);
  }
  const { trigger, quotas } = prepared;
  const acceptance = await acceptor.accept({
    triggerId: trigger.id,
    project: trigger.project,
    actions: trigger.actions,
    quotas,
    body,
    contentType: run.payload.content_type,
    remoteIp: run.remote_ip,
    replayOf: run.id,
    isCurrent: () => triggers.isCurrent(prepared),
  });
  if ("outdated" in acceptance) return await launchAgain(operator, run, body);
  if ("exhausted" in acceptance) {
    const { quota, period } = acceptance.exhausted;
    throw new ConflictError(
      `Cannot replay run ${run.id}: the quota of ${quota} launches in ${period} s is used up`,
    );
  }
  // A replay names no delivery, so it is never a repeat.
  return "run" in acceptance ? acceptance.run : run;
}
