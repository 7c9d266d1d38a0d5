/**
 * `POST /api/v0/launch/<trigger_id>/`: the door. Cheapest checks first; the first that fails answers
 * and nothing later is looked at.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { isId } from "../ids.ts";
import type { HandshakeAnswer } from "../conditions/handshake.ts";
import type { LaunchRequest } from "../conditions/request.ts";
import type { PreparedTrigger, Refused } from "../trigger/prepare.ts";
import type { ReadBody } from "./body.ts";
import type { Door } from "./door.ts";
import { requestFacts, toLaunchRequest } from "./launch_request.ts";
import { methodNotAllowed, problem, rejected, unavailable } from "./problem.ts";

/** How many launches may be under way at once; further ones are turned away. */
const LAUNCHES_MAX = 4_096;
const CONTENT_TYPE_LENGTH_MAX = 255;

/** Makes the handler of the launch URL. */
export function launchHandler(door: Door): (context: Context) => Promise<Response> {
  let underWay = 0;
  return async (context) => {
    if (context.req.raw.method !== "POST") return methodNotAllowed("POST");
    if (door.closing.aborted || underWay >= LAUNCHES_MAX) return unavailable(1);
    underWay++;
    try {
      return await launch(door, context);
    } finally {
      underWay--;
    }
  };
}

async function launch(door: Door, context: Context): Promise<Response> {
  const receivedAt_ms = door.clock.now();
  const request = context.req.raw;
  const peer = door.peerOf(context);
  if (!peer.secure) return problem(STATUS_CODE.Forbidden);
  const id = context.req.param("trigger_id") ?? "";
  const trigger = isId(id) ? await door.triggers.prepared(id) : undefined;
  if (trigger === undefined) return problem(STATUS_CODE.NotFound);
  return await door.bodies.with(request, door.payloadBytesMax, async (read) => {
    if ("failure" in read) return bodyFailure(read.failure);
    const url = new URL(request.url);
    const sent = toLaunchRequest(request, url, read.bytes, {
      baseUrl: door.baseUrl(),
      remoteIp: peer.ip,
      receivedAt_ms,
    });
    return await launchRead(door, trigger, sent);
  });
}

async function launchRead(
  door: Door,
  prepared: PreparedTrigger,
  request: LaunchRequest,
): Promise<Response> {
  const { trigger, quotas, respond, handshakes } = prepared;
  const refused = trigger.enabled
    ? await prepared.check(request, ["address"])
    : { condition: "enabled", reason: "The trigger is disabled" };
  if (refused) return refuse(door, trigger.id, request, refused);
  const greeting = handshakes.unverified(request);
  if (greeting) return answerHandshake(greeting);
  const stranger = await prepared.check(request, ["authentication", "timestamp"]);
  if (stranger) return refuse(door, trigger.id, request, stranger);
  const handshake = await handshakes.verified(request);
  if (handshake) return answerHandshake(handshake);
  const filtered = await prepared.check(request, ["filter"]);
  if (filtered) return refuse(door, trigger.id, request, filtered);
  const delivery = prepared.deliveries?.read(request);
  if (delivery && "reason" in delivery) {
    const index = prepared.deliveries?.index ?? 0;
    return refuse(door, trigger.id, request, { condition: "deduplication", index, ...delivery });
  }
  const contentType = request.headers.get("content-type")?.slice(0, CONTENT_TYPE_LENGTH_MAX);
  const acceptance = await door.acceptor.accept({
    triggerId: trigger.id,
    project: trigger.project,
    actions: trigger.actions,
    quotas,
    body: request.body,
    remoteIp: request.remoteIp,
    ...(contentType === undefined ? {} : { contentType }),
    ...(delivery === undefined ? {} : { delivery }),
  });
  if ("exhausted" in acceptance) {
    const { quota, period } = acceptance.exhausted;
    return refuse(door, trigger.id, request, {
      condition: "rate_limit",
      reason: `The quota is used up: ${quota} launches in ${period} s`,
    });
  }
  const { status, contentType: type, body } = respond(
    "run" in acceptance ? acceptance.run.id : acceptance.repeatOf,
  );
  return new Response(status === 204 || status === 205 ? null : body, {
    status,
    headers: { "content-type": type, "x-content-type-options": "nosniff" },
  });
}

function answerHandshake({ status, contentType, body }: HandshakeAnswer): Response {
  return new Response(body, {
    status,
    headers: { "content-type": contentType, "x-content-type-options": "nosniff" },
  });
}

/** Writes why a request is refused into the trigger log, and tells the sender nothing of it. */
export function refuse(
  door: Door,
  triggerId: string,
  request: LaunchRequest,
  { index, ...refused }: Omit<Refused, "index"> & { index?: number },
): Response {
  if (door.triggerLog.hasRoom(triggerId)) {
    door.triggerLog.add(triggerId, {
      kind: "refused",
      ...refused,
      ...(index === undefined ? {} : { condition_index: index }),
      request: requestFacts(request),
    });
  }
  return rejected();
}

/** The answer to a request whose body could not be read. */
export function bodyFailure(failure: Extract<ReadBody, { failure: string }>["failure"]): Response {
  const headers = { connection: "close" };
  switch (failure) {
    case "too_large":
      return problem(STATUS_CODE.ContentTooLarge, { headers });
    case "too_slow":
      return problem(STATUS_CODE.RequestTimeout, { headers });
    case "no_memory":
      return problem(STATUS_CODE.ServiceUnavailable, {
        headers: { ...headers, "retry-after": "1" },
      });
    case "cut_off":
      return problem(STATUS_CODE.BadRequest, { headers });
  }
}
