/**
 * The requests that filters and actions are tried on: those that the caller sends, or the newest that are stored.
 *
 * @module
 */
import { z } from "zod";
import { DELIVERY_OUTCOMES, type DeliveryOutcome } from "../../store/records/deliveries.ts";
import type { RecentRequest } from "../../triggers/recent_requests.ts";
import type { TriedRequest } from "../../triggers/try_filter.ts";
import { text, time } from "./answer.ts";
import type { Operator } from "./operator.ts";
import { requestOf, requestSchema } from "./try_out.ts";

/** The most requests of one trial. */
export const REQUESTS_MAX = 10;
/** Longer than the longest body in base64, with its headers. */
export const REQUEST_BYTES_MAX = 2 * 1024 * 1024;

/** The schema of sent requests. */
export const sentRequestsSchema = z.array(requestSchema).min(1).max(REQUESTS_MAX);

/** {@linkcode sentRequestsSchema}, where a trigger's deliveries serve in their place. */
export const requestsOrDeliveries = sentRequestsSchema.optional().describe(
  `Requests in place of the newest ${REQUESTS_MAX} deliveries of the trigger`,
);

/** The delivery that a result is about. */
export interface OfDelivery {
  delivery_id?: string;
  time?: string;
  /** The outcome of the delivery at the time. */
  outcome?: DeliveryOutcome;
}

/** The schema of {@linkcode OfDelivery}. */
export const ofDeliverySchema = {
  delivery_id: text.exactOptional().describe(
    "The delivery; absent for a request that was sent",
  ),
  time: time.exactOptional(),
  outcome: z.enum(DELIVERY_OUTCOMES).exactOptional().describe("What came of it at the time"),
};

/** Returns what a result says of its delivery: nothing, where the request was sent. */
export function ofDelivery(request: RecentRequest | undefined): OfDelivery {
  if (request === undefined) return {};
  const { id: delivery_id, time, outcome } = request;
  return { delivery_id, time, outcome };
}

/** Returns sent requests as if they came now. */
export function sentRequests(
  requests: z.output<typeof sentRequestsSchema>,
  operator: Operator,
  triggerId = "",
): TriedRequest[] {
  return requests.map((sent) => {
    const request = requestOf(sent, operator, triggerId);
    return { size: request.body.length, load: () => Promise.resolve(request) };
  });
}
