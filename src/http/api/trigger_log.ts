/**
 * `/api/v0/triggers/<id>/log/`: the requests that were refused, and the actions that failed.
 *
 * @module
 */
import { z } from "zod";
import type { TriggerLogEntry } from "../../store/records/trigger_log.ts";
import { answer, count, page, text, time } from "./answer.ts";
import { found } from "./finder.ts";
import { operation } from "./operation.ts";
import { pageAnswer } from "./page_answer.ts";
import { listQuery } from "./queries.ts";

const logged = { id: text, time };

const triggerLogEntry = answer<TriggerLogEntry>()(
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
      request: z.object({
        method: text,
        remote_ip: text,
        headers: z.record(text, text).describe("Values are hidden unless they are harmless"),
        size: count.exactOptional().describe("Absent when the body was too large to be read"),
        sha256: text.exactOptional(),
      }),
    }),
    z.object({
      ...logged,
      kind: z.literal("action_failed"),
      run_id: text,
      action: text,
      action_index: count,
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
      await found("trigger", id, api.triggers.get(id));
      const { records, next } = await api.triggerLog.list(id, { before: cursor, limit });
      return pageAnswer(context, api.baseUrl(), records, next);
    },
  }),
];
