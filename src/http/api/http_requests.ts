/**
 * `/api/v0/http-requests/`: the requests that actions have sent, and what came back.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import {
  getHttpRequest,
  HTTP_REQUEST_STATUSES,
  HTTP_WAITS,
  type HttpAnswer,
  type HttpRequest,
  readAnswerBody,
} from "../../store/records/http_requests.ts";
import type { Store } from "../../store/store.ts";
import { answer, count, text, time } from "./answer.ts";
import { found } from "./finder.ts";
import { type Origin, origin, withOrigin } from "./origins.ts";
import { TriggerLabels } from "./trigger_labels.ts";
import { operation } from "./operation.ts";

/** Something that came back to a request, as the API shows it. */
interface ShownAnswer extends HttpAnswer {
  /** In base64. */
  body: string;
}

/** An HTTP request as the API shows it. */
export interface ShownHttpRequest extends
  Omit<
    HttpRequest,
    | "launched_by"
    | "answer"
    | "result"
    | "callback_hash"
    | "traceparent"
    | "sender"
    | "owner"
    | "tried"
  >,
  Origin {
  answer?: ShownAnswer;
  result?: ShownAnswer;
}

const came = z.object({
  status: z.int().exactOptional().describe("Absent in a callback"),
  received_at: time,
  duration_ms: count.exactOptional().describe("Absent in a callback"),
  headers: z.record(text, text).describe("Without credentials"),
  size: count.describe("Bytes of the body that are kept, at most 65536"),
  cut: z.literal(true).exactOptional().describe("The body was longer"),
  body: text.describe("In base64"),
});

/** The schema of {@linkcode ShownHttpRequest}. */
export const httpRequest = answer<ShownHttpRequest>()(
  "HttpRequest",
  z.object({
    id: text.describe("Also its Idempotency-Key"),
    run_id: text,
    trigger_id: text,
    ...origin,
    project: text,
    method: text,
    url: text.describe("Without its query, which may hold credentials"),
    wait: z.enum(HTTP_WAITS),
    status: z.enum(HTTP_REQUEST_STATUSES),
    created_at: time,
    ended_at: time.exactOptional(),
    attempts: count.describe("How often it was sent, or was about to be"),
    next_at: time.exactOptional().describe("The next attempt or poll"),
    until: time.exactOptional().describe("The end of the wait"),
    answer: came.exactOptional().describe("The answer to the last attempt that had one"),
    result: came.exactOptional().describe("The callback, or the answer to the last poll"),
    tells_sender: z.literal(true).exactOptional().describe(
      "Set for the callback of a trigger, which tells the sender that the run has ended: no action sends it",
    ),
    reason: text.exactOptional().describe("Why it failed, or the last failure so far"),
  }),
);

/** The operations below `/http-requests/`. */
export const httpRequestOperations = [
  operation({
    id: "getHttpRequest",
    method: "get",
    path: "/http-requests/{id}/",
    summary: "Read an HTTP request of an action, and what came back",
    answers: { 200: { schema: httpRequest } },
    async perform({ api, records, context, params: { id } }) {
      const { store } = api;
      const labels = new TriggerLabels(api);
      const shown = await shownHttpRequest(store, labels, await existing(store, id));
      return context.json(await records.withoutForeignName(shown));
    },
  }),
  operation({
    id: "stopHttpRequest",
    method: "post",
    path: "/http-requests/{id}/stop/",
    scope: "operate",
    summary: "Stop an HTTP request of an action",
    description: "It is not sent again, and waits no more.",
    answers: { 202: { schema: httpRequest } },
    async perform({ api, records, context, params: { id } }) {
      const { store, httpRequests } = api;
      await existing(store, id);
      await httpRequests.stop(id);
      const labels = new TriggerLabels(api);
      const stopped = await shownHttpRequest(store, labels, await existing(store, id));
      return context.json(await records.withoutForeignName(stopped), STATUS_CODE.Accepted);
    },
  }),
];

/** Returns an HTTP request with the bodies of what came back. */
export async function shownHttpRequest(
  store: Store,
  labels: TriggerLabels,
  request: HttpRequest,
): Promise<ShownHttpRequest> {
  const {
    answer,
    result,
    callback_hash: _hash,
    traceparent: _trace,
    sender: _sender,
    owner: _owner,
    tried: _tried,
    ...shown
  } = await withOrigin(labels, request);
  const body = async (part: "answer" | "result") =>
    (await readAnswerBody(store, request.id, part)).toBase64();
  return {
    ...shown,
    ...(answer && { answer: { ...answer, body: await body("answer") } }),
    ...(result && { result: { ...result, body: await body("result") } }),
  };
}

function existing(store: Store, id: string): Promise<HttpRequest> {
  return found("HTTP request", id, getHttpRequest(store, id));
}
