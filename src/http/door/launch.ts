/**
 * `POST /api/v0/launch/<trigger_id>/`: launches a trigger. `triggers/order.ts` has the order of the checks.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { getLogger } from "@logtape/logtape";
import type { Answer } from "../../conditions/answer.ts";
import { maskBody } from "../../conditions/masked_body.ts";
import type { LaunchRequest } from "../../conditions/request.ts";
import { UnavailableError } from "../../platform/errors.ts";
import type { Quota } from "../../runs/rate_window.ts";
import type { Acceptance, Launch } from "../../runs/accept.ts";
import { type Delivery, keptId } from "../../runs/delivery_ids.ts";
import { inspectHead, type Refused, refusedByQuota } from "../../triggers/order.ts";
import type { PreparedTrigger } from "../../triggers/prepare.ts";
import { launchFacts } from "../../triggers/request_facts.ts";
import { handshakeHandler } from "./handshake.ts";
import {
  inspectLogged,
  noteHandshake,
  noteRefusal,
  noteRepeat,
  noteUnavailable,
  refuse,
} from "./refusal.ts";
import { refusalStatus } from "../../triggers/refusal_status.ts";
import { responseOf } from "./response.ts";
import { intakeHandler, type SendersContext } from "./request_intake.ts";
import { countDelivery, type Door } from "./door.ts";
import type { IncomingRequest } from "./incoming_request.ts";
import { problem, rejected } from "../problem.ts";

/** The answer to a request that a filter refuses, where the trigger sets its status. */
const IGNORED: Omit<Answer, "status"> = {
  contentType: "application/json; charset=utf-8",
  body: '{"status":"ignored"}',
};

const ROUTE = "/api/v0/launch/{trigger_id}/";
const log = getLogger(["hooklaunch", "http"]);

/** Makes the handler of the launch URL. */
export function launchHandler(door: Door): (context: SendersContext) => Promise<Response> {
  const launch = intakeHandler(door, {
    route: ROUTE,
    methods: ["POST"],
    isDelivery: true,
    answersWhileClosing: false,
    order: ({ launch }) => launch,
    answer: (prepared, request) => {
      const { id } = prepared.trigger;
      if (!door.listeners.has(id)) return answerLaunch(door, prepared, request);
      return door.listeners.during(id, () => answerLaunch(door, prepared, request));
    },
  });
  const other = handshakeHandler(door, ROUTE, launch);
  return counted(
    door,
    (context) => context.req.raw.method === "POST" ? launch(context) : other(context),
  );
}

async function answerLaunch(
  door: Door,
  prepared: PreparedTrigger,
  request: IncomingRequest,
): Promise<Response> {
  const inspection = await inspectLogged(door, prepared, prepared.launch, request);
  if (!("passed" in inspection) && await isChanged(door, prepared)) {
    return await answerAnew(door, prepared, request);
  }
  if ("refused" in inspection) {
    const { refused } = inspection;
    const answer = refused.cause === "filter" ? answerFiltered : refuse;
    return answer(door, prepared, request, refused);
  }
  if ("answer" in inspection) {
    noteHandshake(door, prepared, request, inspection);
    return responseOf(inspection.answer);
  }
  // A check may have waited for an issuer's keys while the trigger changed.
  if (!door.triggers.isCurrent(prepared)) return await answerAnew(door, prepared, request);
  const { delivery, decoded = request } = inspection;
  const body = prepared.redacted.length === 0
    ? decoded.body
    : await maskBody(decoded.body, decoded.headers.get("content-type") ?? "", prepared.redacted);
  const { headers } = decoded;
  const pace = prepared.pace && await orNoted(door, prepared, request, prepared.pace(decoded));
  const launch = launchOf(door, prepared, request, { body, headers, delivery, ...pace });
  const acceptance = await accept(door, prepared, request, launch);
  // It may also have changed while the payload was stored, or a copy of the delivery was.
  const isOutdated = "outdated" in acceptance ||
    !("run" in acceptance) && await isChanged(door, prepared);
  if (isOutdated) return await answerAnew(door, prepared, request);
  if ("exhausted" in acceptance) {
    return await answerExhausted(door, prepared, request, acceptance.exhausted);
  }
  return answerTo(door, prepared, request, { acceptance, delivery, decoded });
}

/** Returns true when another instance has changed a trigger. For a new run, its commit checks that. */
async function isChanged(
  { triggers, databaseDeadline, store: { shared } }: Door,
  prepared: PreparedTrigger,
): Promise<boolean> {
  if (shared === undefined) return false;
  await databaseDeadline.read(shared.triggers.sync());
  return !triggers.isCurrent(prepared);
}

/** Waits for a part of a launch; where that cannot be had now, the trigger log says so. */
async function orNoted<T>(
  door: Door,
  prepared: PreparedTrigger,
  request: IncomingRequest,
  part: T | Promise<T>,
): Promise<T> {
  try {
    return await part;
  } catch (error) {
    if (error instanceof UnavailableError) {
      noteUnavailable(door, prepared, request, { error, end: "commit" });
    }
    throw error;
  }
}

async function accept(
  door: Door,
  prepared: PreparedTrigger,
  request: IncomingRequest,
  launch: Launch,
): Promise<Acceptance> {
  const { acceptor, databaseDeadline, triggerLog } = door;
  try {
    return await databaseDeadline.accept(
      request,
      (isAbandoned) => acceptor.accept({ ...launch, isAbandoned }),
    );
  } catch (error) {
    // Under overload there are too many to log each.
    if (acceptor.fullness) {
      triggerLog.omit(prepared.trigger, "unavailable");
      countDelivery(door, prepared.trigger.id, "unavailable");
    } else if (error instanceof UnavailableError) {
      noteUnavailable(door, prepared, request, { error, end: "commit" });
    }
    throw error;
  }
}

/** Answers a request that a payload filter refuses. */
function answerFiltered(
  door: Door,
  prepared: PreparedTrigger,
  request: IncomingRequest,
  refused: Refused,
): Response {
  const status = refusalStatus(prepared.trigger, "filter");
  const answer = status < 300 ? responseOf({ ...IGNORED, status }) : rejected(status);
  noteRefusal(door, prepared, request, { refused, outcome: "filtered", status: answer.status });
  return answer;
}

/** Answers a launch whose trigger has changed, by the trigger as it is now. */
async function answerAnew(
  door: Door,
  { trigger: { id } }: PreparedTrigger,
  request: IncomingRequest,
): Promise<Response> {
  const current = await door.triggers.prepared(id);
  if (current === undefined) return problem(STATUS_CODE.NotFound);
  const refused = inspectHead(current.launch, request);
  return refused
    ? refuse(door, current, request, refused)
    : await answerLaunch(door, current, request);
}

/** Counts answers by their status, and measures the time that they take. */
function counted(
  { metrics, clock }: Door,
  handle: (context: SendersContext) => Promise<Response>,
): (context: SendersContext) => Promise<Response> {
  return async (context) => {
    const start_ms = clock.steady() - (context.env.waited_ms ?? 0);
    let status: number = STATUS_CODE.InternalServerError;
    try {
      const answer = await handle(context);
      status = answer.status;
      return answer;
    } catch (error) {
      if (error instanceof UnavailableError) status = STATUS_CODE.ServiceUnavailable;
      throw error;
    } finally {
      metrics.launch(status, clock.steady() - start_ms);
    }
  };
}

function launchOf(
  { triggers }: Door,
  prepared: PreparedTrigger,
  request: IncomingRequest,
  { body, headers, delivery, pace, paceProblems }:
    & Pick<Launch, "body" | "delivery" | "pace" | "paceProblems">
    & { headers: Headers },
): Launch {
  const { remoteIp, queryText } = request;
  const { trigger, quotas } = prepared;
  const { facts, deliveryId, contentType } = launchFacts({ headers, queryText }, prepared);
  return {
    triggerId: trigger.id,
    project: trigger.project,
    actions: trigger.actions,
    quotas,
    body,
    contentType,
    remoteIp,
    ...(facts && { facts }),
    ...(trigger.callback && { callback: true }),
    delivery,
    pace,
    paceProblems,
    deliveryId: delivery === undefined ? deliveryId : keptId(delivery),
    isCurrent: () => triggers.isCurrent(prepared),
  };
}

/** Answers a launch over a rate limit. Where the trigger has a status for it, the sender learns when there is room. */
async function answerExhausted(
  door: Door,
  prepared: PreparedTrigger,
  request: IncomingRequest,
  exhausted: Quota,
): Promise<Response> {
  const { trigger, quotas } = prepared;
  const answer = refuse(door, prepared, request, refusedByQuota(prepared.launch, exhausted));
  if (answer.status === STATUS_CODE.BadRequest) return answer;
  const now_ms = door.clock.now();
  const left = await door.databaseDeadline.read(door.acceptor.left(trigger.id, quotas));
  const waits_s = quotas.map(({ period }, index) => {
    const { left: room = 0, more_ms = now_ms } = left[index] ?? {};
    // A launch of this millisecond, or clocks of instances that differ, make it a little more than the period.
    return room === 0 ? Math.min(period, Math.ceil((more_ms - now_ms) / 1_000)) : 0;
  });
  answer.headers.set("retry-after", String(Math.max(1, ...waits_s)));
  return answer;
}

function answerTo(
  door: Door,
  prepared: PreparedTrigger,
  request: IncomingRequest,
  { acceptance, delivery, decoded }: {
    acceptance: Exclude<Acceptance, { outdated: true } | { exhausted: Quota }>;
    delivery: Delivery | undefined;
    decoded: LaunchRequest;
  },
): Response | Promise<Response> {
  const runId = "run" in acceptance ? acceptance.run.id : acceptance.repeatOf;
  log.debug("Run {run_id} of trigger {trigger}: {outcome}", {
    run_id: runId,
    project: prepared.trigger.project,
    trigger: prepared.trigger.name,
    outcome: "run" in acceptance ? "accepted" : "sent again",
  });
  countDelivery(door, prepared.trigger.id, "run" in acceptance ? "accepted" : "repeat");
  if ("run" in acceptance) door.listeners.copy(prepared.trigger.id, request)?.(runId);
  const answer = prepared.respond(runId, decoded);
  const send = (answered: Answer): Response => {
    const response = responseOf(answered);
    if ("repeatOf" in acceptance) {
      const deliveryId = delivery === undefined ? "" : keptId(delivery);
      noteRepeat(door, prepared, request, { run_id: runId, deliveryId, status: response.status });
    }
    return response;
  };
  return "then" in answer ? answer.then(send) : send(answer);
}
