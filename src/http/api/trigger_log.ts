/**
 * `/api/v0/triggers/<id>/log/`: the requests that were refused, the handshakes that were answered, the
 * actions, HTTP requests and executions that failed, and the deliveries that differ from those before.
 *
 * @module
 */
import { z } from "zod";
import type {
  ActionFailedEvent,
  ExecutionFailedEvent,
  HandshakeEvent,
  HttpRequestFailedEvent,
  OmittedEvent,
  PaceIncompleteEvent,
  RefusedEvent,
  ShapeChangedEvent,
  TriggerLogEntry,
} from "../../store/records/trigger_log_entries.ts";
import type { Page } from "../../store/read/lists.ts";
import { answer, count, page, text, time } from "./answer.ts";
import type { Authenticated } from "./auth.ts";
import { found, presentOrFormer } from "./finder.ts";
import { operation } from "./operation.ts";
import { pageAnswer } from "./page_answer.ts";
import { listQuery } from "./queries.ts";
import { search } from "./search.ts";

/** An entry as the log shows it: about a refused request, a handshake, a failed action, HTTP request or execution, a change of bodies, or a count of these. */
export type LogEntry =
  & { id: string; time: string; project?: string }
  & (
    | Omit<
      RefusedEvent,
      "outcome" | "is_question" | "status" | "delivery_id" | "verdicts" | "kept_until"
    >
    | HandshakeEvent
    | ActionFailedEvent
    | HttpRequestFailedEvent
    | ExecutionFailedEvent
    | ShapeChangedEvent
    | PaceIncompleteEvent
    | Pick<OmittedEvent, "kind" | "count">
  );

const logged = {
  id: text,
  time,
  project: text.exactOptional().describe(
    "That of the trigger when it was written; absent in entries of earlier versions",
  ),
};
const request = z.object({
  method: text,
  remote_ip: text,
  headers: z.record(text, text).describe("Values are hidden unless they are harmless"),
  query: text.exactOptional().describe("Without its ?, credentials masked"),
  size: count.exactOptional().describe("Absent when the body was too large to be read"),
  sha256: text.exactOptional(),
});

const triggerLogEntry = answer<LogEntry>()(
  "TriggerLogEntry",
  z.discriminatedUnion("kind", [
    z.object({
      ...logged,
      kind: z.literal("refused"),
      condition: text,
      condition_index: z.int().exactOptional().describe("Its place among the conditions, from 0"),
      reason: text,
      expected: text.exactOptional(),
      found: text.exactOptional(),
      request,
    }),
    z.object({
      ...logged,
      kind: z.literal("handshake"),
      handshake: text.describe("Its place in the trigger, or the provider of a condition's preset"),
      status: z.int().describe("The status that the provider got"),
      told: text.exactOptional().describe(
        "A secret that the provider sent for the owner to copy, such as Notion's verification token; for admins alone",
      ),
      request,
    }),
    z.object({
      ...logged,
      kind: z.literal("action_failed"),
      run_id: text,
      action: text,
      action_index: count,
      error: text,
    }),
    z.object({
      ...logged,
      kind: z.literal("http_request_failed"),
      run_id: text,
      http_request_id: text,
      url: text,
      error: text,
    }),
    z.object({
      ...logged,
      kind: z.literal("execution_failed"),
      run_id: text,
      execution_id: text,
      step: text,
      status: z.literal("error"),
      reason: text,
    }),
    z.object({
      ...logged,
      kind: z.literal("shape_changed"),
      run_id: text.describe("The delivery whose body differs from those before it"),
      reason: text,
      expected: text.exactOptional(),
      found: text.exactOptional(),
    }),
    z.object({
      ...logged,
      kind: z.literal("pace_incomplete"),
      run_id: text.describe("The run whose request lacks a value of the trigger's pace"),
      pointer: text.describe("The field of the trigger, such as `/coalesce/key`"),
      expression: text.describe("Without a value: the key is empty in its place, a delay is none"),
      error: text,
    }),
    z.object({ ...logged, kind: z.literal("omitted"), count }),
  ]),
);

/** The operation that reads a trigger's log. */
export const triggerLogOperations = [
  operation({
    id: "listTriggerLog",
    method: "get",
    path: "/triggers/{id}/log/",
    summary: "List a trigger's log, newest first",
    query: listQuery,
    answers: { 200: { schema: page(triggerLogEntry) } },
    async perform({ api, context, params: { id }, query: { limit, cursor } }) {
      const { access }: Authenticated = context.env;
      const isAdmin = access.scope === "admin";
      await found("trigger", id, presentOrFormer(api, id));
      const read = (part: Page) => api.triggerLog.list(id, part);
      const { records, next } = await search(read, {
        limit,
        cursor,
        matches: (entry) => shown(entry, isAdmin) !== undefined,
      });
      return pageAnswer(
        context,
        api.baseUrl(),
        records.flatMap((entry) => shown(entry, isAdmin) ?? []),
        next,
      );
    },
  }),
];

/** Returns an entry as the log shows it; undefined when it does not: a repeat is neither refused nor a failure. */
function shown(entry: TriggerLogEntry, isAdmin: boolean): LogEntry | undefined {
  switch (entry.kind) {
    case "repeat":
      return undefined;
    case "action_failed":
    case "http_request_failed":
    case "execution_failed":
    case "shape_changed":
    case "pace_incomplete":
      return entry;
    case "handshake": {
      const { told: _told, ...rest } = entry;
      return isAdmin ? entry : rest;
    }
    case "omitted": {
      const { deliveries: _deliveries, ...rest } = entry;
      return rest.count === 0 ? undefined : rest;
    }
    case "refused": {
      const {
        outcome: _outcome,
        is_question: _isQuestion,
        status: _status,
        delivery_id: _deliveryId,
        verdicts: _verdicts,
        kept_until: _keptUntil,
        ...rest
      } = entry;
      return rest;
    }
  }
}
