/**
 * Trying a payload filter out: `POST /api/v0/triggers/<id>/try-filter/` on the newest requests of a trigger,
 * `POST /api/v0/try-filter/` on others.
 *
 * @module
 */
import { z } from "zod";
import { factsOf } from "../../conditions/facts.ts";
import { payloadFilter, type PayloadFilterSettings } from "../../conditions/payload_filter.ts";
import { parseInput } from "../../platform/schema/nulls.ts";
import {
  type FilterVerdict,
  type TriedRequest,
  tryFilter,
  type TryFilterParts,
} from "../../triggers/try_filter.ts";
import { answer, count, input, text } from "./answer.ts";
import { found } from "./finder.ts";
import { operation } from "./operation.ts";
import type { Records } from "./records.ts";
import {
  type OfDelivery,
  ofDelivery,
  ofDeliverySchema,
  REQUEST_BYTES_MAX,
  REQUESTS_MAX,
  requestsOrDeliveries,
  sentRequests,
  sentRequestsSchema,
} from "./tried_request.ts";

const position = z.object({ line: count, column: count });

const results = answer<TriedFilter>()(
  "FilterTry",
  z.object({
    results: z.array(z.object({
      ...ofDeliverySchema,
      verdict: z.enum(["passed", "failed", "error", "not tried"]).describe(
        "`error`: the filter is neither true nor false, so the request does not pass",
      ),
      reason: text.exactOptional(),
      expected: text.exactOptional().describe("The part of the filter that does not hold"),
      found: text.exactOptional(),
      position: position.exactOptional().describe(
        "The place in the expression that an error comes from; both count from 1",
      ),
    })).describe("In the order of the requests; deliveries are newest first"),
  }),
);

const filter = payloadFilter.schema.describe("The condition as a trigger has it");

const ofTrigger = input(
  "FilterTryInput",
  z.strictObject({ filter, requests: requestsOrDeliveries }),
);
const withRequests = input(
  "FilterTryOnRequestsInput",
  z.strictObject({ filter, requests: sentRequestsSchema }),
);

const candidate = { type: "payload_filter", expression: 'body.ref == "refs/heads/main"' };
const request = {
  headers: { "content-type": "application/json" },
  body: '{"ref":"refs/heads/main"}',
};

const DESCRIPTION =
  "Launches, stores and counts nothing. A filter that cannot be saved is refused, with the place of its " +
  "mistake. No further request is tried after 2 s, and none with a body of more than 1 MiB.";

/** The operations that try a payload filter out. */
export const tryFilterOperations = [
  operation({
    id: "tryTriggerFilter",
    method: "post",
    path: "/triggers/{id}/try-filter/",
    isTrial: true,
    answeredBy: "any",
    summary: "Evaluate a payload filter over the newest requests of a trigger",
    description:
      `${DESCRIPTION} Of the trigger's deliveries, accepted ones are tried, and filtered ` +
      "ones that are kept (`keep_refused`).",
    body: {
      schema: ofTrigger,
      limit_bytes: REQUEST_BYTES_MAX,
      examples: { "A filter for pushes to main": { filter: candidate } },
    },
    answers: { 200: { schema: results } },
    async perform({ api, records, context, params: { id }, body }) {
      const { trigger, credentials } = await found("trigger", id, api.triggers.prepared(id));
      const { filter, requests } = parseInput(ofTrigger, body, "the filter to try");
      const parts = { heavyWork: api.heavyWork, credentials };
      return context.json(
        requests === undefined
          ? await tryOnDeliveries(filter, records, { triggerId: trigger.id, parts })
          : await tryOn(filter, sentRequests(requests, api, trigger.id), parts),
      );
    },
  }),
  operation({
    id: "tryFilter",
    method: "post",
    path: "/try-filter/",
    isTrial: true,
    answeredBy: "any",
    summary: "Evaluate a payload filter over requests",
    description: DESCRIPTION,
    body: {
      schema: withRequests,
      limit_bytes: REQUEST_BYTES_MAX,
      examples: { "A filter and a request": { filter: candidate, requests: [request] } },
    },
    answers: { 200: { schema: results } },
    async perform({ api, context, body }) {
      const { filter, requests } = parseInput(withRequests, body, "the filter to try");
      const parts = { heavyWork: api.heavyWork, credentials: factsOf([]).credentials };
      return context.json(await tryOn(filter, sentRequests(requests, api), parts));
    },
  }),
];

/** The verdict on a request, and its delivery. */
export interface TriedDelivery extends FilterVerdict, OfDelivery {}

/** The verdicts of a filter. */
export interface TriedFilter {
  results: TriedDelivery[];
}

async function tryOnDeliveries(
  filter: PayloadFilterSettings,
  records: Records,
  { triggerId, parts }: { triggerId: string; parts: TryFilterParts },
): Promise<TriedFilter> {
  const recent = await records.recentRequests(triggerId, REQUESTS_MAX);
  const verdicts = await tryFilter(filter, recent, parts);
  return {
    results: verdicts.flatMap((verdict, index) => {
      const request = recent[index];
      if (request === undefined) return [];
      return [{ ...ofDelivery(request), ...verdict }];
    }),
  };
}

async function tryOn(
  filter: PayloadFilterSettings,
  requests: readonly TriedRequest[],
  parts: TryFilterParts,
): Promise<TriedFilter> {
  return { results: await tryFilter(filter, requests, parts) };
}
