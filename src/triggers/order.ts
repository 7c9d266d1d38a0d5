/**
 * The order in which a request at a trigger's URL is checked. The launch URL, run info and the dry run of
 * the operators' API all read it here, so that an explanation cannot differ from what happens.
 *
 * @module
 */
import type { Check, Refusal, Stage } from "../conditions/condition.ts";
import type { DeliveryReader } from "../conditions/deduplication.ts";
import type { Answer, Handshakes } from "../conditions/handshake.ts";
import type { Condition } from "../conditions/mod.ts";
import type { PreparedCondition, Refuser } from "../conditions/prepare.ts";
import { describeExhausted, type Quota } from "../conditions/rate_window.ts";
import type { LaunchRequest } from "../conditions/request.ts";
import { messageOf, UnavailableError } from "../platform/errors.ts";
import type { Delivery } from "../runs/delivery_ids.ts";

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

/** A rate limit of the trigger and its place among the conditions. */
interface Limit {
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
  /** The trigger's conditions as its owner wrote them. */
  settings: readonly Condition[];
  /** Why the trigger refuses every request: a secret of its own cannot be decrypted. */
  locked: Refusal | undefined;
  /** In check order. */
  conditions: readonly PreparedCondition[];
  handshakes: Handshakes;
  deliveries: { index: number; read: DeliveryReader } | undefined;
  /** Whether the trigger's requests are signed, which one without a body cannot be. */
  isSigned: boolean;
}

/** The result of all checks: a refusal, an answer to a handshake, or a pass. */
export type Inspection =
  | { refused: Refused }
  | { answer: Answer }
  | { passed: true; delivery?: Delivery };

/** Makes the order of a launch. */
export function launchOrder(parts: OrderParts): Order {
  const { conditions, handshakes, settings } = parts;
  const disabled = parts.enabled ? undefined : { reason: "The trigger is disabled" };
  return {
    checks: [
      ...fixed("secrets", parts.locked),
      ...fixed("enabled", disabled),
      ...ofStage(conditions, "address"),
      { answer: (request) => handshakes.unverified(request) },
      ...ofStage(conditions, "authentication"),
      ...ofStage(conditions, "timestamp"),
      { answer: (request) => handshakes.verified(request) },
      ...ofStage(conditions, "filter"),
      ...deliveryChecks(parts.deliveries),
    ],
    limits: limitsOf(settings),
  };
}

/** Lists rate limits as a launch meets them: of one period, the smallest first. */
function limitsOf(settings: readonly Condition[]): Limit[] {
  const limits = settings.flatMap((condition, index) =>
    condition.type === "rate_limit" ? [{ index, quota: condition }] : []
  );
  const periods = limits.map(({ quota }) => quota.period);
  const turnOf = ({ quota }: Limit) => periods.indexOf(quota.period);
  return limits.sort((a, b) => turnOf(a) - turnOf(b) || a.quota.quota - b.quota.quota);
}

/** Makes the order of run info: it proves the sender, and neither filters nor counts. */
export function runInfoOrder({ conditions, locked, isSigned }: OrderParts): Order {
  const checks = [
    ...fixed("secrets", locked),
    ...isSigned ? [UNSIGNED_GET] : [],
    ...ofStage(conditions, "address"),
    ...ofStage(conditions, "authentication"),
    ...ofStage(conditions, "timestamp"),
  ];
  return { checks, limits: [] };
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
  const reason = describeExhausted({ period, quota });
  return { condition: "rate_limit", index: limit?.index ?? NO_CONDITION, reason };
}

/** Refuses run info by GET where requests are signed. */
const UNSIGNED_GET: DoorCheck = {
  condition: "signature",
  index: NO_CONDITION,
  look: ({ method }) =>
    method === "GET"
      ? { reason: "Run info was asked for by GET, and a request without a body cannot be signed" }
      : undefined,
};

/** A check whose result does not depend on the request. */
function fixed(condition: Refuser, refusal: Refusal | undefined): DoorCheck[] {
  return refusal === undefined ? [] : [{ condition, index: NO_CONDITION, look: () => refusal }];
}

function ofStage(conditions: readonly PreparedCondition[], stage: Stage): DoorCheck[] {
  return conditions.filter((condition) => condition.stage === stage)
    .map(({ type, index, check }) => ({
      condition: type,
      index,
      look: (request) => checkOne(check, request),
    }));
}

function deliveryChecks(deliveries: OrderParts["deliveries"]): DoorCheck[] {
  if (deliveries === undefined) return [];
  const { index, read } = deliveries;
  const look = (request: LaunchRequest): Finding => {
    const delivery = read(request);
    return "reason" in delivery ? delivery : { delivery };
  };
  return [{ condition: "deduplication", index, look }];
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
