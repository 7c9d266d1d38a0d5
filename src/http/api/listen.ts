/**
 * `POST /api/v0/triggers/<id>/listen/`: the requests of a trigger as they come, for a copy of each to be sent
 * elsewhere.
 *
 * @module
 */
import { z } from "zod";
import { REFUSERS } from "../../conditions/kinds.ts";
import { idTime } from "../../platform/ids.ts";
import { parseInput } from "../../platform/schema/nulls.ts";
import { childOf } from "../../platform/schema/pointer.ts";
import { DELIVERY_OUTCOMES } from "../../store/records/deliveries.ts";
import type { PreparedTrigger } from "../../triggers/prepare.ts";
import { referenceHolders } from "../../triggers/secrets.ts";
import { type Access, isLimited } from "./access.ts";
import { input, text } from "./answer.ts";
import type { Authenticated } from "./auth.ts";
import { STREAM_HEADERS } from "./event_stream.ts";
import { found } from "./finder.ts";
import { ListenSource } from "./listen_stream.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import { idSchema, lastIdSchema, timeSchema } from "./queries.ts";
import { Records } from "./records.ts";

/** One that reconnects gets the deliveries of this time before its last one again: some may have come late. */
const OVERLAP_MS = 15_000;

/**
 * Tells whether an operator may see requests that a trigger accepts, which may have a secret of the trigger in them: of
 * one that was deleted, that is not known.
 */
function seesSecrets(access: Access, prepared: PreparedTrigger | undefined): boolean {
  if (prepared === undefined) return false;
  const { conditions, handshakes } = prepared.trigger;
  if (!conditions.some(({ type }) => type === "static_token")) return true;
  if (access.scope !== "admin") return false;
  return !isLimited(access) || referenceHolders({ conditions, handshakes }).length === 0;
}

/** Tells whether an operator may see a trigger, which may have got another name or project; true once it is deleted. */
async function stillSees(api: Operator, access: Access, id: string): Promise<boolean> {
  const labels = await api.triggers.labelsOf(id);
  return labels === undefined || await new Records(api, access).seesTrigger({ id, ...labels });
}

const listenInput = input(
  "ListenInput",
  z.strictObject({
    from: timeSchema.exactOptional().describe(
      "Those of this time (RFC 3339) or later, too; those from now on when absent",
    ),
    after: idSchema.exactOptional().describe("Those behind the delivery of this id, too"),
    outcome: z.enum(DELIVERY_OUTCOMES).exactOptional().describe("Only those with this outcome"),
    condition: z.enum(REFUSERS).exactOptional().describe("Only those that this has refused"),
  }),
);

/** The operation that listens to a trigger. */
export const listenOperations = [
  operation({
    id: "listenToTrigger",
    method: "post",
    path: "/triggers/{id}/listen/",
    scope: "operate",
    summary: "Get each delivery of a trigger as it comes, with its request",
    description: "Answers with server-sent events, each a delivery with its request, " +
      "`{ delivery, exact, method, query, headers, body, missing }`: the exact bytes in base64 and all " +
      "headers, **credentials included**, so that a copy of it has a valid signature. A delivery comes " +
      "once. Exact requests are in memory while someone listens and a minute longer, 64 MiB at most; " +
      "others come as they are stored, without credentials, or say in `missing` why there is no body: `not read`, `not kept` or `too long`. A client that was cut off sends `Last-Event-ID`, and leaves out " +
      "what it knows of the 15 s before that. An event `gap` says that more than 10,000 deliveries " +
      "waited, of which the newest come. Where the trigger's own secret is in its requests, as with " +
      "`static_token`, only the scope `admin` gets them exact. The audit log tells who has listened.",
    headers: { "Last-Event-ID": lastIdSchema },
    body: {
      schema: listenInput,
      isOptional: true,
      examples: {
        "Refused requests of the last day, and those to come": {
          from: "2026-11-24T08:00:00Z",
          outcome: "refused",
        },
      },
    },
    answers: { 200: { media: { "text/event-stream": text } } },
    told: (sent) => ({
      from: childOf(sent, "from") ?? undefined,
      after: childOf(sent, "after") ?? undefined,
      outcome: childOf(sent, "outcome") ?? undefined,
    }),
    async perform({ api, records, context, params: { id: trigger_id }, body }) {
      await found("trigger", trigger_id, api.triggers.labelsOf(trigger_id));
      const sent = parseInput(listenInput, body ?? {}, "what to listen to");
      const { from, after = "", outcome, condition } = sent;
      const last = context.req.header("last-event-id") || undefined;
      const now_ms = api.clock.now();
      const from_ms = last !== undefined
        ? idTime(last) - OVERLAP_MS
        : from ?? (after === "" ? now_ms : idTime(after));
      // The caller has put it there.
      const { access, isAllowed }: Authenticated = context.env;
      const source = new ListenSource(api, {
        filter: { trigger_id, outcome, condition },
        from_ms,
        after,
        records,
        isAllowed: async () => await isAllowed() && await stillSees(api, access, trigger_id),
        seesSecrets: async () => seesSecrets(access, await api.triggers.prepared(trigger_id)),
      });
      return context.body(api.streams.follow(source), 200, STREAM_HEADERS);
    },
  }),
];
