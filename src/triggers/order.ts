/**
 * The order in which a request at a trigger's URL is checked. The launch URL, run info and the dry run of
 * the operators' API all read it here, so that an explanation cannot differ from what happens.
 *
 * @module
 */
import { whenPartsRead } from "../conditions/body_part.ts";
import type { Check, HeadCheck as ConditionHeadCheck, Refusal } from "../conditions/check.ts";
import type { Stage } from "../conditions/condition.ts";
import type { Answer } from "../conditions/handshake.ts";
import type { Refuser } from "../conditions/kinds.ts";
import type {
  PreparedCondition,
  PreparedConditions,
  PreparedQuota,
} from "../conditions/prepare.ts";
import { declaredLength, type LaunchRequest, type RequestHead } from "../conditions/request.ts";
import { messageOf, UnavailableError } from "../platform/errors.ts";
import type { Delivery } from "../runs/delivery_ids.ts";
import { describeExhausted, type Quota } from "../runs/rate_window.ts";

/** The index of a check that is no condition of the trigger. */
export const NO_CONDITION = -1;
/** The longest body of a question about a run. */
const RUN_INFO_BYTES_MAX = 64 * 1024;

/** A refusal, and the check that it comes from. */
export interface Refused extends Refusal {
  condition: Refuser;
  /** The condition's place in the trigger, from 0; -1 for a check that is no condition. */
  index: number;
  /** Set when the request was refused before its body was read. */
  isBeforeBody?: true;
}

/** The name of a check, and the place of its condition in the trigger. */
export interface CheckName {
  condition: Refuser;
  index: number;
}

/** A check cannot decide now, and may a little later. */
export class UndecidedError extends UnavailableError {
  constructor(readonly check: CheckName, { message, retryAfter_s, cause }: UnavailableError) {
    super(message, retryAfter_s, { cause });
  }
}

/** A check before the body is read. */
export interface HeadCheck extends CheckName {
  head(request: RequestHead): Refusal | undefined;
}

/** A check of the whole request; the one of deduplication also reads the delivery's id. */
export interface BodyCheck extends CheckName {
  /** It comes after all that prove the sender. */
  isFilter?: true;
  look(request: LaunchRequest): Finding | Promise<Finding>;
}

/** The result of a check: a refusal, the delivery's id, or undefined to go on. */
export type Finding = Refusal | { delivery: Delivery } | undefined;

/** The place in the order where a provider's handshake is answered. */
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
  /** The longest body, in bytes. */
  bodyBytesMax: number;
  /** Before the body is read. */
  beforeBody: readonly HeadCheck[];
  withBody: readonly (BodyCheck | Handshake)[];
  /** Rate limits are checked last: the commit that stores the run counts it. */
  limits: readonly Limit[];
}

/** The parts that an order is made of. */
export interface OrderParts {
  enabled: boolean;
  /** The reason why the trigger refuses every request: one of its secrets cannot be decrypted. */
  locked: Refusal | undefined;
  conditions: PreparedConditions;
  /** The longest body of a launch, in bytes. */
  bodyBytesMax: number;
}

/** The result of all checks: a refusal, an answer to a handshake, or a pass. */
export type Inspection =
  | { refused: Refused; isFiltered?: true }
  | { answer: Answer }
  | { passed: true; delivery?: Delivery };

/** Makes the order of a launch. */
export function launchOrder({ enabled, locked, conditions, bodyBytesMax }: OrderParts): Order {
  const { checks, handshakes, quotas } = conditions;
  const disabled = enabled ? undefined : { reason: "The trigger is disabled" };
  const head = [...fixed("secrets", locked), ...fixed("enabled", disabled)];
  return {
    bodyBytesMax,
    beforeBody: headChecks(head, conditions, bodyBytesMax),
    withBody: [
      bodySizeCheck(bodyBytesMax),
      ...ofStage(checks, "address"),
      { answer: (request) => whenPartsRead(() => handshakes.unverified(request)) },
      ...ofStage(checks, "authentication"),
      ...ofStage(checks, "timestamp"),
      { answer: (request) => whenPartsRead(() => handshakes.verified(request)) },
      ...ofStage(checks, "filter").map((check) => ({ ...check, isFilter: true as const })),
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
  const rankOf = ({ quota }: Limit) => periods.indexOf(quota.period);
  return limits.sort((a, b) => rankOf(a) - rankOf(b) || a.quota.quota - b.quota.quota);
}

/** Makes the order of run info: it proves the sender, and neither filters nor counts. */
export function runInfoOrder({ conditions, locked }: OrderParts): Order {
  const { checks, signedBy } = conditions;
  return {
    bodyBytesMax: RUN_INFO_BYTES_MAX,
    beforeBody: headChecks(fixed("secrets", locked), conditions, RUN_INFO_BYTES_MAX),
    withBody: [
      ...signedBy ? [unsignedGet(signedBy)] : [],
      ...ofStage(checks, "address"),
      ...ofStage(checks, "authentication"),
      ...ofStage(checks, "timestamp"),
    ],
    limits: [],
  };
}

/** Checks a request before its body is read. The first check that refuses ends it. */
export function inspectHead({ beforeBody }: Order, head: RequestHead): Refused | undefined {
  for (const check of beforeBody) {
    const refusal = check.head(head);
    if (refusal) return { ...refusedBy(check, refusal), isBeforeBody: true };
  }
  return undefined;
}

/**
 * Checks a request of which {@linkcode inspectHead} refused nothing. The first check that refuses or
 * answers ends it; nothing later is evaluated.
 *
 * @throws {UnavailableError} when a check cannot decide now and may a little later
 */
export async function inspectBody(
  { withBody }: Order,
  request: LaunchRequest,
): Promise<Inspection> {
  let delivery: Delivery | undefined;
  for (const check of withBody) {
    if ("answer" in check) {
      const answer = await check.answer(request);
      if (answer) return { answer };
      continue;
    }
    const look = check.look(request);
    // Most checks answer at once: awaiting each costs more than some of them.
    const finding = look instanceof Promise ? await look : look;
    if (finding === undefined) continue;
    if (!("delivery" in finding)) {
      const refused = refusedBy(check, finding);
      return check.isFilter ? { refused, isFiltered: true } : { refused };
    }
    delivery = finding.delivery;
  }
  return { passed: true, ...(delivery && { delivery }) };
}

/** Checks a request whose body is read. */
export async function inspect(order: Order, request: LaunchRequest): Promise<Inspection> {
  const refused = inspectHead(order, request);
  return refused ? { refused } : await inspectBody(order, request);
}

/** Returns the refusal of a body that is too long. */
export function tooLarge({ bodyBytesMax }: Pick<Order, "bodyBytesMax">): Refused {
  return {
    condition: "body_size",
    index: NO_CONDITION,
    reason: "The body is too large",
    expected: `at most ${bodyBytesMax} bytes`,
  };
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
function unsignedGet({ type, index }: Pick<PreparedCondition, "type" | "index">): BodyCheck {
  const reason = "Run info was asked for by GET, and a request without a body cannot be signed";
  const look = ({ method }: LaunchRequest) => method === "GET" ? { reason } : undefined;
  return { condition: type, index, look };
}

/** Checks of the head, in their order: size, the trigger's own state, addresses, credentials. */
function headChecks(
  state: readonly HeadCheck[],
  { checks, handshakes }: PreparedConditions,
  bodyBytesMax: number,
): HeadCheck[] {
  const size = tooLarge({ bodyBytesMax });
  const conditions = checks.flatMap(({ type, index, stage, beforeBody }) => {
    if (beforeBody === undefined) return [];
    // A handshake that proves nothing comes before authentication, and only a whole request shows it.
    if (handshakes.hasUnverified && stage !== "address") return [];
    const place = { condition: type, index };
    return [{ ...place, head: (request: RequestHead) => checkHead(beforeBody, request, place) }];
  });
  const isTooLong = ({ headers }: RequestHead) => (declaredLength(headers) ?? 0) > bodyBytesMax;
  return [
    { ...placeOf(size), head: (request) => isTooLong(request) ? size : undefined },
    ...state,
    ...conditions,
  ];
}

/** A check whose result does not depend on the request. */
function fixed(condition: Refuser, refusal: Refusal | undefined): HeadCheck[] {
  return refusal === undefined ? [] : [{ condition, index: NO_CONDITION, head: () => refusal }];
}

function bodySizeCheck(bodyBytesMax: number): BodyCheck {
  const refusal = tooLarge({ bodyBytesMax });
  const look = ({ body }: LaunchRequest) => body.length > bodyBytesMax ? refusal : undefined;
  return { ...placeOf(refusal), look };
}

function ofStage(checks: readonly PreparedCondition[], stage: Stage): BodyCheck[] {
  return checks.filter((condition) => condition.stage === stage)
    .map(({ type, index, check }) => ({
      condition: type,
      index,
      look: (request) => checkOne(check, request, { condition: type, index }),
    }));
}

function deliveryChecks(quotas: readonly PreparedQuota[]): BodyCheck[] {
  return quotas.flatMap(({ type, index, readDelivery }) => {
    if (readDelivery === undefined) return [];
    const look = (request: LaunchRequest) =>
      whenPartsRead((): Finding => {
        const delivery = readDelivery(request);
        return "reason" in delivery ? delivery : { delivery };
      });
    return [{ condition: type, index, look }];
  });
}

function checkHead(
  check: ConditionHeadCheck,
  request: RequestHead,
  place: CheckName,
): Refusal | undefined {
  try {
    return check(request);
  } catch (error) {
    return uncheckable(error, place);
  }
}

function checkOne(check: Check, request: LaunchRequest, place: CheckName): ReturnType<Check> {
  try {
    const refusal = whenPartsRead(() => check(request));
    return refusal instanceof Promise
      ? refusal.catch((error) => uncheckable(error, place))
      : refusal;
  } catch (error) {
    return uncheckable(error, place);
  }
}

/** @throws {UndecidedError} when the same request may be checked a little later */
function uncheckable(error: unknown, place: CheckName): Refusal {
  if (error instanceof UnavailableError) throw new UndecidedError(place, error);
  return { reason: `The condition could not be checked: ${messageOf(error)}` };
}

/** Returns the name and the place that a check goes by. */
export function placeOf({ condition, index }: CheckName): CheckName {
  return { condition, index };
}

function refusedBy(check: CheckName, refusal: Refusal): Refused {
  return { ...placeOf(check), ...refusal };
}
