/**
 * The order in which a request at a trigger's URL is checked. The launch URL, run info and the dry run of
 * the operators' API all read it here, so that an explanation cannot differ from what happens.
 *
 * @module
 */
import { whenPartsRead } from "../platform/waiting/pending.ts";
import type { Check, HeadCheck as ConditionHeadCheck, Refusal } from "../conditions/check.ts";
import type { Stage } from "../conditions/condition.ts";
import type { DecodeRequest } from "../conditions/decoding/decode.ts";
import type { HandshakeReply } from "../conditions/handshake/prepare.ts";
import { HANDSHAKE_BODY_BYTES_MAX } from "../conditions/handshake/row.ts";
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
import {
  type BodyCheck,
  type CheckName,
  type Finding,
  type HandshakeStep,
  type HeadCheck,
  NO_CONDITION,
  type RefusalCause,
} from "./checks.ts";
import { handshakeStep, noHandshakeCheck } from "./handshake_checks.ts";

export { type BodyCheck, type CheckName, type HeadCheck, NO_CONDITION } from "./checks.ts";

/** The longest body of a question about a run. */
const RUN_INFO_BYTES_MAX = 64 * 1024;

/** A refusal, and the check that it comes from. */
export interface Refused extends Refusal {
  condition: Refuser;
  /** The condition's place in the trigger, from 0; -1 for a check that is no condition. */
  index: number;
  /** The cause, where the trigger can set the status of the answer. */
  cause?: RefusalCause;
  /** The status of the answer, where no trigger sets it. */
  status?: number;
  /** Set when the request was refused before its body was read. */
  isBeforeBody?: true;
}

/** A check cannot decide now, and may a little later. */
export class UndecidedError extends UnavailableError {
  constructor(readonly check: CheckName, { message, retryAfter_s, cause }: UnavailableError) {
    super(message, retryAfter_s, { cause });
  }
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
  withBody: readonly (BodyCheck | HandshakeStep)[];
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
  /** Makes the decoder of bodies, whose results have at most so many bytes. */
  decoder(limit_bytes: number): DecodeRequest;
}

/** The result of all checks: a refusal, an answer to a handshake, or a pass. */
export type Inspection =
  | { refused: Refused }
  | HandshakeReply
  | { passed: true; delivery?: Delivery; decoded?: LaunchRequest };

/** Makes the order of a launch. */
export function launchOrder(parts: OrderParts): Order {
  const { conditions, bodyBytesMax } = parts;
  const { checks, quotas } = conditions;
  const handshakes = conditions.handshakes.filter(({ row }) => row.method === "POST");
  const unverified = handshakes.filter(({ row }) => !row.verified);
  return {
    bodyBytesMax,
    // A handshake that proves nothing comes before authentication, and only a whole request shows it.
    beforeBody: headChecks(stateChecks(parts), {
      checks: unverified.length > 0 ? ofAddress(checks) : checks,
      bodyBytesMax,
    }),
    withBody: [
      bodySizeCheck(bodyBytesMax),
      ...ofStage(checks, "address"),
      ...handshakeStep(unverified),
      ...ofStage(checks, "authentication"),
      decoding(parts, bodyBytesMax),
      ...ofStage(checks, "timestamp"),
      ...handshakeStep(handshakes.filter(({ row }) => row.verified)),
      ...ofStage(checks, "filter"),
      ...deliveryChecks(quotas),
    ],
    limits: limitsOf(quotas),
  };
}

/**
 * Makes the order of a request by another method than POST, which can be a handshake alone. Undefined for a
 * trigger without one of these methods.
 */
export function handshakeOrder(parts: OrderParts): Order | undefined {
  const { checks, handshakes } = parts.conditions;
  const others = handshakes.filter(({ row }) => row.method !== "POST");
  if (others.length === 0) return undefined;
  const unverified = others.filter(({ row }) => !row.verified);
  const verified = others.filter(({ row }) => row.verified);
  const bodyBytesMax = Math.min(parts.bodyBytesMax, HANDSHAKE_BODY_BYTES_MAX);
  return {
    bodyBytesMax,
    beforeBody: headChecks(stateChecks(parts), { checks: ofAddress(checks), bodyBytesMax }),
    withBody: [
      bodySizeCheck(bodyBytesMax),
      ...ofStage(checks, "address"),
      ...handshakeStep(unverified),
      ...verified.length === 0 ? [] : [
        ...ofStage(checks, "authentication"),
        ...ofStage(checks, "timestamp"),
        ...handshakeStep(verified),
      ],
      noHandshakeCheck(others),
    ],
    limits: [],
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
export function runInfoOrder(parts: OrderParts): Order {
  const { conditions: { checks, signedBy }, locked } = parts;
  const bodyBytesMax = RUN_INFO_BYTES_MAX;
  return {
    bodyBytesMax,
    beforeBody: headChecks(fixed("secrets", locked), { checks, bodyBytesMax }),
    withBody: [
      ...signedBy ? [unsignedGet(signedBy)] : [],
      ...ofStage(checks, "address"),
      ...ofStage(checks, "authentication"),
      decoding(parts, bodyBytesMax),
      ...ofStage(checks, "timestamp"),
    ],
    limits: [],
  };
}

/**
 * Makes the step that undoes the encoding of a body. It comes once the sender is known: no other makes the service
 * decode. Later checks read the result.
 */
function decoding({ decoder }: OrderParts, limit_bytes: number): BodyCheck {
  return { condition: "content_encoding", index: NO_CONDITION, look: decoder(limit_bytes) };
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
  sent: LaunchRequest,
): Promise<Inspection> {
  let request = sent;
  let delivery: Delivery | undefined;
  for (const check of withBody) {
    if ("answer" in check) {
      const reply = await check.answer(request);
      if (reply) return reply;
      continue;
    }
    const look = check.look(request);
    // Most checks answer at once: awaiting each costs more than some of them.
    const finding = look instanceof Promise ? await look : look;
    if (finding === undefined) continue;
    if ("decoded" in finding) request = finding.decoded;
    else if ("delivery" in finding) delivery = finding.delivery;
    else return { refused: refusedBy(check, finding) };
  }
  const decoded = request === sent ? {} : { decoded: request };
  return { passed: true, ...(delivery && { delivery }), ...decoded };
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
  const cause = "rate_limit";
  return { condition, index, reason: describeExhausted({ period, quota }), cause };
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
  { checks, bodyBytesMax }: { checks: readonly PreparedCondition[]; bodyBytesMax: number },
): HeadCheck[] {
  const size = tooLarge({ bodyBytesMax });
  const conditions = checks.flatMap(({ type, index, stage, beforeBody }) => {
    if (beforeBody === undefined) return [];
    const place = { condition: type, index };
    return [{
      ...place,
      ...causeOf(stage),
      head: (request: RequestHead) => checkHead(beforeBody, request, place),
    }];
  });
  const isTooLong = ({ headers }: RequestHead) => (declaredLength(headers) ?? 0) > bodyBytesMax;
  return [
    { ...placeOf(size), head: (request) => isTooLong(request) ? size : undefined },
    ...state,
    ...conditions,
  ];
}

/** Checks of the trigger itself. */
function stateChecks({ enabled, locked }: OrderParts): HeadCheck[] {
  const disabled = enabled ? undefined : { reason: "The trigger is disabled" };
  return [...fixed("secrets", locked), ...fixed("enabled", disabled)];
}

function ofAddress(checks: readonly PreparedCondition[]): PreparedCondition[] {
  return checks.filter(({ stage }) => stage === "address");
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
      ...causeOf(stage),
      look: (request) => checkOne(check, request, { condition: type, index }),
    }));
}

function deliveryChecks(quotas: readonly PreparedQuota[]): BodyCheck[] {
  return quotas.flatMap(({ type, index, readDelivery }) => {
    if (readDelivery === undefined) return [];
    const place = { condition: type, index };
    const look = (request: LaunchRequest) =>
      whenPartsRead((): Finding | Promise<Finding> => {
        const read = readDelivery(request);
        if (!(read instanceof Promise)) return findingOf(read);
        return read.then(findingOf, (error) => uncheckable(error, place));
      });
    return [{ ...place, look }];
  });
}

function findingOf(delivery: Delivery | Refusal): Finding {
  return "reason" in delivery ? delivery : { delivery };
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

function causeOf(stage: Stage): { cause?: RefusalCause } {
  return stage === "authentication" || stage === "filter" ? { cause: stage } : {};
}

function refusedBy({ cause, ...check }: HeadCheck | BodyCheck, refusal: Refusal): Refused {
  return { ...placeOf(check), ...refusal, ...(cause && { cause }) };
}
