/**
 * `/api/v0/deliveries/`: the requests at the launch URLs of all triggers.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { z } from "zod";
import { ConflictError } from "../../platform/errors.ts";
import { lowestId } from "../../platform/ids.ts";
import { DELIVERY_OUTCOMES, type DeliveryFilter } from "../../store/records/deliveries.ts";
import { childOf } from "../../platform/schema/pointer.ts";
import { parseInput } from "../../platform/schema/nulls.ts";
import { replay, replayKept } from "../../triggers/replay.ts";
import { outcomeDifferences } from "./outcomes.ts";
import { answerReplay } from "./replay_answer.ts";
import { RUN_STATUSES } from "../../store/records/runs.ts";
import { type DeliveryEntry, NO_RUN_OUTCOMES } from "../../store/records/trigger_log_entries.ts";
import { isLimited } from "./access.ts";
import { answer, count, input, pageFields, text, time } from "./answer.ts";
import { type DeliveryDetails, deliveryDetails } from "./delivery_details.ts";
import { DeliverySource } from "./delivery_stream.ts";
import type { Authenticated } from "./auth.ts";
import { STREAM_HEADERS } from "./event_stream.ts";
import type { Api } from "./api.ts";
import { ChangeSource } from "./delivery_changes.ts";
import { Records } from "./records.ts";
import { found } from "./finder.ts";
import { leftOut, run } from "./runs.ts";
import { listDeliveries, type ShownDelivery, type ShownOmission } from "./delivery_views.ts";
import { httpRequest } from "./http_requests.ts";
import { authorOf, launcher, scheduleFields } from "./origins.ts";
import { operation } from "./operation.ts";
import { type AnswerPage, pageOf } from "./page_answer.ts";
import { deliveryQuery, lastIdSchema, triggerIdOf } from "./queries.ts";
import { workStates } from "./work_states.ts";

const REPLAYED_BYTES_MAX = 1024 * 1024;

const fields = {
  id: text.describe("That of the run, where it made one"),
  time,
  trigger_id: text,
  trigger: text.exactOptional().describe("The trigger's name; absent when it was deleted"),
  project: text.exactOptional().describe(
    "That of the trigger when it came; absent where that is not known",
  ),
  outcome: z.enum(DELIVERY_OUTCOMES),
  status: z.int().describe("The status that the sender got"),
  condition: text.exactOptional().describe("What refused it: a condition, or another cause"),
  reason: text.exactOptional(),
  delivery_id: text.exactOptional().describe("The sender's id of the delivery"),
  remote_ip: text,
  size: count.exactOptional().describe(
    "What Content-Length says where the body was not read; absent without it",
  ),
  sha256: text.exactOptional().describe("Absent when the body was not read"),
  run_id: text.exactOptional().describe("The run that it made, or that it is a repeat of"),
  run_status: z.enum(RUN_STATUSES).exactOptional().describe("The status of the run that it made"),
  replay_of: text.exactOptional().describe("The delivery whose payload was launched again"),
  launched_by: launcher.exactOptional(),
  ...scheduleFields,
  redacted: z.literal(true).exactOptional().describe(
    "The body was stored without its credentials: the payload is not what came",
  ),
  executions: workStates.executions.exactOptional(),
  pipelines: workStates.pipelines.exactOptional(),
  http_requests: workStates.http_requests.exactOptional(),
};

/** The schema of a delivery as lists show it. */
export const delivery = answer<ShownDelivery>()("Delivery", z.object(fields));

const details = answer<DeliveryDetails>()(
  "DeliveryDetails",
  z.object({
    ...fields,
    ...workStates,
    method: text,
    headers: z.record(text, text).describe(
      "Without credentials, or with ******** in place of their values",
    ),
    query: text.describe("Without its ?, credentials masked; empty where there was none"),
    left_out: leftOut.exactOptional(),
    body: text.exactOptional().describe(
      "In base64. Absent when it is not kept, or longer than 1 MiB",
    ),
    kept_until: time.exactOptional().describe(
      "The time up to which a request that made no run is kept as it came; absent when it is not",
    ),
    verdicts: z.array(z.object({
      condition: text,
      index: z.int().describe("Its place among the conditions; -1 for what is not a condition"),
      verdict: z.enum(["passed", "failed", "not reached"]),
      reason: text.exactOptional(),
      found: text.exactOptional(),
      expected: text.exactOptional(),
    })).exactOptional().describe("Absent when the trigger has changed since, and in replays"),
    replays: z.array(z.object({ ...fields, differences: outcomeDifferences })).exactOptional()
      .describe("The newest deliveries that launched this one again, at most 20"),
    sent: z.array(httpRequest).exactOptional().describe(
      "The HTTP requests of its run and its callback, and what came back",
    ),
    run: run.exactOptional().describe(
      "The run that it made, or that it is a repeat of; absent when it was removed",
    ),
  }),
);

const omission = answer<ShownOmission>()(
  "OmittedDeliveries",
  z.object({
    time,
    trigger_id: text,
    trigger: text.exactOptional(),
    project: text.exactOptional(),
    deliveries: z.partialRecord(z.enum(NO_RUN_OUTCOMES), count).describe(
      "Their number, by outcome",
    ),
  }),
);

/** A page of deliveries, as JSON. */
export interface DeliveryPage extends AnswerPage<ShownDelivery> {
  omitted: readonly ShownOmission[];
  scanned_to?: string;
}

const deliveryPage = answer<DeliveryPage>()(
  "DeliveryPage",
  z.object({
    ...pageFields(delivery),
    omitted: z.array(omission).describe("Deliveries without an entry of their own"),
    scanned_to: time.exactOptional().describe(
      "The time that the search has come to, where it was cut short: follow `next`",
    ),
  }),
);

const replayInput = input(
  "DeliveryReplayInput",
  z.strictObject({
    commit: z.string().min(1).max(256).exactOptional()
      .describe("The commit that the actions run at, in place of their own"),
    body: z.base64().max(Math.ceil(REPLAYED_BYTES_MAX / 3) * 4).exactOptional()
      .describe("The payload in place of the delivery's own, in base64; at most 1 MiB"),
  }),
);

/** The path of a replay, as OpenAPI documents and traces name it. */
const REPLAY_PATH = "/deliveries/{id}/replay/";

/** The operations below `/deliveries/`. */
export const deliveryOperations = [
  operation({
    id: "listDeliveries",
    method: "get",
    path: "/deliveries/",
    summary: "List the deliveries of all triggers, newest first",
    description:
      "With `follow`, each new delivery is an event, with the delivery as its `data`, in " +
      "JSON, and its id as its `id`. It comes again when it changes, for a minute, and so does one that came before. An event `gap` " +
      "says that more came than were sent: at most `limit` each second, 200 when that is absent. A search ends after 40 ms: then a page may hold fewer than `limit`, or none, " +
      "`scanned_to` says how far it has come, and `next` goes on from there.",
    query: deliveryQuery,
    headers: { "Last-Event-ID": lastIdSchema },
    answers: { 200: { schema: deliveryPage, media: { "text/event-stream": text } } },
    async perform({ api, context, query }) {
      const { limit, cursor, follow, only_changes, trigger, from, to, ...rest } = query;
      const trigger_id = await triggerIdOf(api.store, trigger);
      const filter = { ...rest, trigger_id, from_ms: from, to_ms: to };
      if (follow) {
        return followDeliveries(api, context, { filter, limit, only_changes });
      }
      const read = () => listDeliveries(api, { limit, cursor, filter });
      // The caller has put it there.
      const { access, isRefresh = false }: Authenticated = context.env;
      const isPlain = [cursor, ...Object.values(filter)].every((value) => value === undefined);
      const isShared = isRefresh && isPlain && !isLimited(access);
      const { results, next, ...more } = isShared
        ? await api.deliveryChanges.newest(limit, read)
        : await read();
      const page: DeliveryPage = { ...pageOf(context, api.baseUrl(), results, next), ...more };
      return context.json(page);
    },
  }),
  operation({
    id: "getDelivery",
    method: "get",
    path: "/deliveries/{id}/",
    summary: "Read a delivery: the request, the verdict on each condition, the run",
    answers: { 200: { schema: details } },
    async perform({ api, records, context, params: { id } }) {
      return context.json(await found("delivery", id, deliveryDetails(api, records, id)));
    },
  }),
  operation({
    id: "replayDelivery",
    method: "post",
    path: REPLAY_PATH,
    scope: "operate",
    summary: "Launch a delivery again",
    description:
      "With the trigger's actions and rate limits as they are now. A refused or filtered request that is " +
      "kept is checked again by the trigger's conditions as they are now, at the time at which it came; 409 " +
      "says which of them still refuses it.",
    body: { schema: replayInput, isOptional: true, limit_bytes: 2 * REPLAYED_BYTES_MAX },
    answers: { 201: { schema: run, headers: { Location: "The address of the new run" } } },
    told: (sent) => ({
      commit: childOf(sent, "commit") ?? undefined,
      has_body: typeof childOf(sent, "body") === "string",
    }),
    async perform({ api, records, context, params: { id }, body: sent }) {
      const delivery = await found("delivery", id, records.delivery(id));
      if (!("run" in delivery)) expectNoRepeat("replay", delivery.entry);
      const { body, ...rest } = parseInput(replayInput, sent ?? {}, "the replay");
      const changes = {
        ...rest,
        author: authorOf(context),
        ...(body !== undefined && { body: Uint8Array.fromBase64(body) }),
      };
      return await answerReplay(
        { api, records, context, id, path: REPLAY_PATH },
        () =>
          "run" in delivery
            ? replay(api, delivery.run, changes)
            : replayKept(api, { triggerId: delivery.trigger_id, entryId: id }, changes),
      );
    },
  }),
];

/** @throws {ConflictError} when a delivery is a repeat: the one that it repeats has the request */
export function expectNoRepeat(
  what: "replay" | "diagnose",
  entry: DeliveryEntry,
): asserts entry is Extract<DeliveryEntry, { kind: "refused" }> {
  if (entry.kind !== "repeat") return;
  throw new ConflictError(
    `Cannot ${what} delivery ${entry.id}: it is a repeat of ${entry.run_id}, which was accepted. ` +
      `Ask to ${what} that one`,
  );
}

function followDeliveries(
  api: Api,
  context: Context,
  { filter, limit, only_changes }: {
    filter: DeliveryFilter;
    limit: number;
    only_changes: boolean;
  },
): Response {
  if (context.req.method === "HEAD") return context.body(null, 200, STREAM_HEADERS);
  const after = context.req.header("last-event-id") || lowestId(api.clock.now());
  // The caller has put it there.
  const { access, isAllowed }: Authenticated = context.env;
  // What others' deliveries do is nothing that a limited token may see.
  if (only_changes && !isLimited(access)) {
    const changes = new ChangeSource(api.deliveryChanges, isAllowed);
    return context.body(api.streams.follow(changes), 200, STREAM_HEADERS);
  }
  const source = new DeliverySource(api, {
    filter,
    after,
    isAllowed,
    // Triggers get other names while it goes on.
    visible: (deliveries) => new Records(api, access).visible("deliveries", deliveries),
  }, context.req.query("limit") === undefined ? api.streams.linesMax : limit);
  return context.body(api.streams.follow(source), 200, STREAM_HEADERS);
}
