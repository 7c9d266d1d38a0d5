/**
 * The checks of a request, of which `order.ts` makes orders.
 *
 * @module
 */
import type { Refusal } from "../conditions/check.ts";
import type { HandshakeReply } from "../conditions/handshake/prepare.ts";
import type { Refuser } from "../conditions/kinds.ts";
import type { LaunchRequest, RequestHead } from "../conditions/request.ts";
import type { Delivery } from "../runs/delivery_ids.ts";

/** The index of a check that is no condition of the trigger. */
export const NO_CONDITION = -1;
/** The name of a check, and the place of its condition in the trigger. */
export interface CheckName {
  condition: Refuser;
  index: number;
}

/** The cause of a refusal, where a trigger can set its status. */
export type RefusalCause = "authentication" | "rate_limit" | "filter";

/** A check before the body is read. */
export interface HeadCheck extends CheckName {
  cause?: RefusalCause;
  head(request: RequestHead): Refusal | undefined;
}

/** A check of the whole request; the one of deduplication also reads the delivery's id. */
export interface BodyCheck extends CheckName {
  cause?: RefusalCause;
  look(request: LaunchRequest): Finding | Promise<Finding>;
}

/** The result of a check: a refusal, the delivery's id, the request for the checks that follow, or undefined to go on. */
export type Finding = Refusal | { delivery: Delivery } | { decoded: LaunchRequest } | undefined;

/** The place in the order where a provider's handshake is answered. */
export interface HandshakeStep {
  answer(request: LaunchRequest): Promise<HandshakeReply | undefined>;
}
