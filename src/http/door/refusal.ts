/**
 * Refusing a request: the owner reads why in the trigger log, and the sender gets the same answer
 * whatever refused it.
 *
 * @module
 */
import type { Refusal } from "../../conditions/check.ts";
import { maskedFieldsOf } from "../../conditions/masked_body.ts";
import { getLogger } from "@logtape/logtape";
import { STATUS_CODE } from "@std/http/status";
import type { HandshakeReply } from "../../conditions/handshake/prepare.ts";
import { UnavailableError } from "../../platform/errors.ts";
import {
  type CheckName,
  inspectBody,
  type Inspection,
  NO_CONDITION,
  type Order,
  type Refused,
  UndecidedError,
} from "../../triggers/order.ts";
import { type NoRunOutcome, shownId } from "../../store/records/trigger_log_entries.ts";
import type { PreparedTrigger } from "../../triggers/prepare.ts";
import { refusalStatus } from "../../triggers/refusal_status.ts";
import { type EndOfChecks, knownVerdicts } from "../../triggers/verdicts.ts";
import { PART_BYTES_MIN } from "../body_stream.ts";
import { NOT_READ_ON, problem, rejected } from "../problem.ts";
import { countDelivery, type Door } from "./door.ts";
import { IncomingRequest } from "./incoming_request.ts";
import {
  deliveryIdOf,
  requestFacts,
  type SeenRequest,
  withHash,
} from "../../triggers/request_facts.ts";

/** The refusal of a body that comes in more parts than its length explains. */
export const TOO_MANY_PARTS: Refused = {
  condition: "body_size",
  index: NO_CONDITION,
  reason: "The body comes in too many short parts",
  expected: `chunks of ${PART_BYTES_MIN} bytes or more`,
};

/** Stands for a check that is no condition, such as a handshake. */
const UNKNOWN_CHECK: CheckName = { condition: "overload", index: NO_CONDITION };

/** A text in quotes. */
const QUOTED = /"((?:[^"\\]|\\.)*)"/g;

const log = getLogger(["hooklaunch", "http"]);

/**
 * Checks a request with its body. One that cannot be checked now is written into the trigger log too.
 *
 * @throws {UnavailableError} when a check cannot decide now and may a little later
 */
export async function inspectLogged(
  door: Door,
  prepared: PreparedTrigger,
  order: Order,
  request: IncomingRequest,
): Promise<Inspection> {
  try {
    return await inspectBody(order, request);
  } catch (error) {
    if (error instanceof UnavailableError) {
      door.metrics.refused("overload", prepared.trigger);
      const check = error instanceof UndecidedError ? error.check : UNKNOWN_CHECK;
      noteUnavailable(door, prepared, request, { error, end: { undecided: check } });
    }
    throw error;
  }
}

/** Writes into the trigger log that a request is answered 503. */
export function noteUnavailable(
  door: Door,
  prepared: PreparedTrigger,
  request: SeenRequest,
  { error, end }: { error: UnavailableError; end: EndOfChecks },
): void {
  const reason = `Answered 503: ${error.message}`;
  addRefusal(door, prepared, request, {
    refused: { condition: "overload", index: NO_CONDITION, reason },
    end,
    outcome: "unavailable",
    status: STATUS_CODE.ServiceUnavailable,
  });
}

/** Logs a refusal and makes its answer. */
export function refuse(
  door: Door,
  prepared: PreparedTrigger,
  request: SeenRequest,
  refused: Refused,
): Response {
  const answer = answerOf(prepared, refused);
  noteRefusal(door, prepared, request, { refused, status: answer.status });
  return answer;
}

/** Makes the answer to a refusal. */
function answerOf(
  { trigger, challenge }: PreparedTrigger,
  { condition, status: own, cause }: Refused,
): Response {
  if (condition === "body_size") {
    return problem(STATUS_CODE.ContentTooLarge, { headers: NOT_READ_ON });
  }
  if (own !== undefined) return problem(own);
  const status = refusalStatus(trigger, cause);
  const isChallenge = status === STATUS_CODE.Unauthorized;
  return rejected(status, isChallenge ? { "www-authenticate": challenge } : {});
}

/** Writes a refusal into the trigger log. */
export function noteRefusal(
  door: Door,
  prepared: PreparedTrigger,
  request: SeenRequest,
  { refused, status, outcome = "refused" }: Omit<Turned, "outcome"> & Partial<Turned>,
): void {
  door.metrics.refused(refused.condition, prepared.trigger);
  log.debug("A request to trigger {trigger} was refused by {condition}", {
    trigger: prepared.trigger.name,
    condition: refused.condition,
  });
  addRefusal(door, prepared, request, { refused, outcome, status });
}

/** A request that makes no run, and how it is answered. */
interface Turned {
  refused: Refused;
  /** The end of the checks, where it is not the refusal. */
  end?: EndOfChecks;
  outcome: Exclude<NoRunOutcome, "repeat">;
  status: number;
}

function addRefusal(
  door: Door,
  prepared: PreparedTrigger,
  request: SeenRequest,
  turned: Turned,
): void {
  const { refused, end = refused, outcome, status } = turned;
  const { triggerLog } = door;
  const { trigger } = prepared;
  if (request.isDelivery) countDelivery(door, trigger.id, outcome);
  if (!triggerLog.hasRoom(trigger, outcome)) return;
  const { index, isBeforeBody: _isBeforeBody, cause: _cause, status: _status, ...rest } = refused;
  const entry = {
    kind: "refused",
    outcome,
    ...withoutSecrets(rest, prepared),
    ...(index === NO_CONDITION ? {} : { condition_index: index }),
    ...(request.isDelivery
      ? {
        status,
        ...deliveryFacts(request, prepared),
        verdicts: knownVerdicts(prepared.launch, end),
      }
      : { is_question: true as const }),
  } as const;
  const keep = keeper(door, prepared, request, turned);
  const hold = holder(door, prepared, request);
  triggerLog.expect(withHash(requestFacts(request, prepared), request, (facts) => {
    const kept = keep && { kept_until: new Date(keep.until_ms).toISOString() };
    const entryId = triggerLog.add(trigger, { ...entry, request: facts, ...kept });
    keep?.store(entryId, facts.sha256);
    if (entryId !== undefined) hold?.(entryId);
  }));
}

/** Hides a value that was found in a request and is a secret of the trigger, wherever it stood. */
function withoutSecrets<T extends Partial<Refusal>>(
  refusal: T,
  { isSecret }: PreparedTrigger,
): T {
  const { found } = refusal;
  if (found === undefined) return refusal;
  const values = [found, ...Array.from(found.matchAll(QUOTED), ([, text = ""]) => text)];
  return values.some(isSecret) ? { ...refusal, found: "not shown" } : refusal;
}

/** Returns what holds a request for those who listen to its trigger; undefined where nobody does. */
function holder(
  { listeners }: Door,
  { trigger }: PreparedTrigger,
  request: SeenRequest,
): ((entryId: string) => void) | undefined {
  const isWhole = request instanceof IncomingRequest && request.isDelivery;
  return isWhole ? listeners.copy(trigger.id, request) : undefined;
}

/** Keeps a request for its owner, by its entry in the trigger log. */
interface Keeper {
  until_ms: number;
  store(entryId: string | undefined, sha256: string | undefined): void;
}

/** Takes hold of a request that is to be kept as it came, until it is stored; undefined when it is not. */
function keeper(
  { keptRequests }: Door,
  { trigger, credentials }: PreparedTrigger,
  request: SeenRequest,
  { outcome }: Turned,
): Keeper | undefined {
  // Another one has no body, or is only the head of one that was too long.
  const isWhole = request instanceof IncomingRequest && request.isDelivery;
  if (!isWhole || outcome === "unavailable") return undefined;
  if (!keptRequests.hasRoom(trigger, request.body.length)) return undefined;
  const until_ms = keptRequests.until_ms(trigger);
  const { method, target, headers, remoteIp, receivedAt_ms, body } = request;
  const { promise, resolve } = Promise.withResolvers<void>();
  request.inUse = promise;
  return {
    until_ms,
    store(entryId, sha256) {
      if (entryId === undefined || sha256 === undefined) return resolve();
      const place = { triggerId: trigger.id, entryId };
      const masked = maskedFieldsOf(credentials);
      const sent = { method, target, headers, remoteIp, receivedAt_ms, body, masked };
      resolve(keptRequests.keep(place, sent, { until_ms, sha256 }));
    },
  };
}

/** Writes into the trigger log that a handshake was answered. */
export function noteHandshake(
  { triggerLog }: Door,
  prepared: PreparedTrigger,
  request: IncomingRequest,
  { answer: { status }, handshake, told }: HandshakeReply,
): void {
  const { trigger } = prepared;
  if (!triggerLog.hasRoom(trigger, "handshake")) return;
  triggerLog.expect(withHash(requestFacts(request, prepared), request, (facts) => {
    const entry = { kind: "handshake", handshake, status, request: facts } as const;
    triggerLog.add(trigger, told === undefined ? entry : { ...entry, told });
  }));
}

/** Writes into the trigger log that a delivery is answered like an earlier one. */
export function noteRepeat(
  door: Door,
  prepared: PreparedTrigger,
  request: IncomingRequest,
  { run_id, deliveryId, status }: { run_id: string; deliveryId: string; status: number },
): void {
  const { trigger } = prepared;
  const { triggerLog } = door;
  if (!triggerLog.hasRoom(trigger, "repeat")) return;
  const hold = holder(door, prepared, request);
  const entry = {
    kind: "repeat",
    run_id,
    status,
    delivery_id: shownId(deliveryId),
    verdicts: knownVerdicts(prepared.launch, "repeat"),
  } as const;
  triggerLog.expect(withHash(requestFacts(request, prepared), request, (facts) => {
    const entryId = triggerLog.add(trigger, { ...entry, request: facts });
    if (entryId !== undefined) hold?.(entryId);
  }));
}

function deliveryFacts(
  request: SeenRequest,
  prepared: PreparedTrigger,
): { delivery_id?: string } {
  const delivery_id = deliveryIdOf(request, prepared);
  return delivery_id === undefined ? {} : { delivery_id };
}
