/**
 * The order in which a request at a trigger's URL is checked. The launch URL, run info and the dry run of
 * the operators' API all read it here, so that an explanation cannot differ from what happens.
 *
 * @module
 */
import type { Check, Refusal } from "../conditions/check.ts";
import type { Stage } from "../conditions/condition.ts";
import type { Answer } from "../conditions/handshake.ts";
import type { Refuser } from "../conditions/kinds.ts";
import type {
  PreparedCondition,
  PreparedConditions,
  PreparedQuota,
} from "../conditions/prepare.ts";
import type { LaunchRequest } from "../conditions/request.ts";
import { messageOf, UnavailableError } from "../platform/errors.ts";
import type { Delivery } from "../runs/delivery_ids.ts";
import { describeExhausted, type Quota } from "../runs/rate_window.ts";

/** The index of a check that is no condition of the trigger. */
export const NO_CONDITION = -1;

/** A refusal, and the check that it comes from. */
export interface Refused extends Refusal {
  condition: Refuser;
  /** The condition's place in the trigger, from 0; -1 for a check that is no condition. */
  index: number;
}

/** A check that may refuse; the one of deduplication also reads the delivery's id. */
export interface DoorCheck {
  condition: Refuser;
  index: number;
  look(request: LaunchRequest): Finding | Promise<Finding>;
}

/** The result of a check: a refusal, the delivery's id, or undefined to go on. */
type Finding = Refusal | { delivery: Delivery } | undefined;

/** A place in the order where a provider's question is answered. */
interface Handshake {
  answer(request: LaunchRequest): Answer | undefined | Promise<Answer | undefined>;
}

/** A rate limit of the trigger, and the condition that sets it. */
interface Limit {
  condition: Refuser;
  index: number;
  quota: Quota;
}

/** Every check of a request, in order. */
export interface Order {
  checks: readonly (DoorCheck | Handshake)[];
  /** Rate limits are checked last: the commit that stores the run counts it. */
  limits: readonly Limit[];
}

/** The parts that an order is made of. */
export interface OrderParts {
  enabled: boolean;
  /** Why the trigger refuses every request: a secret of its own cannot be decrypted. */
  locked: Refusal | undefined;
  conditions: PreparedConditions;
}

/** The result of all checks: a refusal, an answer to a handshake, or a pass. */
export type Inspection =
  | { refused: Refused }
  | { answer: Answer }
  | { passed: true; delivery?: Delivery };

/** Makes the order of a launch. */
export function launchOrder({ enabled, locked, conditions }: OrderParts): Order {
  const { checks, handshakes, quotas } = conditions;
  const disabled = enabled ? undefined : { reason: "The trigger is disabled" };
  return {
    checks: [
      ...fixed("secrets", locked),
      ...fixed("enabled", disabled),
      ...ofStage(checks, "address"),
      { answer: (request) => handshakes.unverified(request) },
      ...ofStage(checks, "authentication"),
      ...ofStage(checks, "timestamp"),
      { answer: (request) => handshakes.verified(request) },
      ...ofStage(checks, "filter"),
      ...deliveryChecks(quotas),
    ],
    limits: limitsOf(quotas),
  };
}

/** Lists rate limits as a launch meets them: of one period, the smallest first. */
function limitsOf(quotas: readonly PreparedQuota[]): Limit[] {
  const limits = quotas.flatMap(({ type, index, limit }) =>
    limit ? [{ condition: type, index, quota: limit }] : []
  );
  const periods = limits.map(({ quota }) => quota.period);
  const turnOf = ({ quota }: Limit) => periods.indexOf(quota.period);
  return limits.sort((a, b) => turnOf(a) - turnOf(b) || a.quota.quota - b.quota.quota);
}

/** Makes the order of run info: it proves the sender, and neither filters nor counts. */
export function runInfoOrder({ conditions: { checks, signedBy }, locked }: OrderParts): Order {
  const inOrder = [
    ...fixed("secrets", locked),
    ...signedBy ? [unsignedGet(signedBy)] : [],
    ...ofStage(checks, "address"),
    ...ofStage(checks, "authentication"),
    ...ofStage(checks, "timestamp"),
  ];
  return { checks: inOrder, limits: [] };
}

/**
 * Checks a request in order. The first check that refuses or answers ends it; nothing later is evaluated.
 *
 * @throws {UnavailableError} when a check cannot decide now and may a little later
 */
export async function inspect({ checks }: Order, request: LaunchRequest): Promise<Inspection> {
  let delivery: Delivery | undefined;
  for (const check of checks) {
    if ("answer" in check) {
      const answer = await check.answer(request);
      if (answer) return { answer };
      continue;
    }
    const look = check.look(request);
    // Most checks answer at once: awaiting each costs more than some of them.
    const finding = look instanceof Promise ? await look : look;
    if (finding === undefined) continue;
    if (!("delivery" in finding)) return { refused: refusedBy(check, finding) };
    delivery = finding.delivery;
  }
  return { passed: true, ...(delivery && { delivery }) };
}

/** Returns the refusal by a quota that the commit of a launch found used up. */
export function refusedByQuota({ limits }: Order, { period, quota }: Quota): Refused {
  const limit = limits.find((limit) =>
    limit.quota.period === period && limit.quota.quota === quota
  );
  if (limit === undefined) throw new TypeError("No condition of the trigger sets this limit");
  const { condition, index } = limit;
  return { condition, index, reason: describeExhausted({ period, quota }) };
}

/** Refuses run info by GET where requests are signed. */
function unsignedGet({ type, index }: Pick<PreparedCondition, "type" | "index">): DoorCheck {
  const reason = "Run info was asked for by GET, and a request without a body cannot be signed";
  const look = ({ method }: LaunchRequest) => method === "GET" ? { reason } : undefined;
  return { condition: type, index, look };
}

/** A check whose result does not depend on the request. */
function fixed(condition: Refuser, refusal: Refusal | undefined): DoorCheck[] {
  return refusal === undefined ? [] : [{ condition, index: NO_CONDITION, look: () => refusal }];
}

function ofStage(checks: readonly PreparedCondition[], stage: Stage): DoorCheck[] {
  return checks.filter((condition) => condition.stage === stage)
    .map(({ type, index, check }) => ({
      condition: type,
      index,
      look: (request) => checkOne(check, request),
    }));
}

function deliveryChecks(quotas: readonly PreparedQuota[]): DoorCheck[] {
  return quotas.flatMap(({ type, index, readDelivery }) => {
    if (readDelivery === undefined) return [];
    const look = (request: LaunchRequest): Finding => {
      const delivery = readDelivery(request);
      return "reason" in delivery ? delivery : { delivery };
    };
    return [{ condition: type, index, look }];
  });
}

function checkOne(check: Check, request: LaunchRequest): ReturnType<Check> {
  try {
    const refusal = check(request);
    return refusal instanceof Promise ? refusal.catch(uncheckable) : refusal;
  } catch (error) {
    return uncheckable(error);
  }
}

/** @throws {UnavailableError} as it is: the same request may be checked a little later */
function uncheckable(error: unknown): Refusal {
  if (error instanceof UnavailableError) throw error;
  return { reason: `The condition could not be checked: ${messageOf(error)}` };
}

/** Returns the name and the place that a check goes by. */
export function placeOf({ condition, index }: DoorCheck): { condition: Refuser; index: number } {
  return { condition, index };
}

function refusedBy(check: DoorCheck, refusal: Refusal): Refused {
  return { ...placeOf(check), ...refusal };
}
