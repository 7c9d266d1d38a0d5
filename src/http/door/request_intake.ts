/**
 * What both endpoints for senders begin with: method, HTTPS, trigger, body, in this order; and how
 * they refuse.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { getLogger } from "@logtape/logtape";
import type { LaunchRequest } from "../../conditions/request.ts";
import { UnavailableError } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { Span } from "../../telemetry/spans.ts";
import type { Refused } from "../../triggers/order.ts";
import type { PreparedTrigger } from "../../triggers/prepare.ts";
import { IN_ONE_PIECE_BYTES_MAX, PART_BYTES_MIN, type ReadBody } from "../body.ts";
import type { Door } from "./door.ts";
import { ArrivedRequest, requestFacts, type SeenRequest } from "./launch_request.ts";
import type { Arrival } from "./request_queue.ts";
import { requestTracer } from "../request_spans.ts";
import {
  methodNotAllowed,
  NOT_READ_ON,
  noteUnavailable,
  problem,
  problemOfError,
  rejected,
  unavailable,
} from "../problem.ts";

/** How many requests to one endpoint may be waiting for their answers, once they have arrived. */
const UNDER_WAY_MAX = 4_096;

const TOO_MANY_PARTS: Why = {
  condition: "body_size",
  reason: "The body comes in too many short parts",
  expected: `chunks of ${PART_BYTES_MIN} bytes or more`,
};

/** Made once: there are many to turn away when there are too many. */
const FULL = new UnavailableError("Cannot take requests on: too many wait for their answers", 1);
const NO_MEMORY = new UnavailableError("Cannot take requests on: too many bodies are arriving", 1);

const log = getLogger(["hooklaunch", "http"]);

/** A request to an endpoint for senders. */
export type SendersContext = Context<{ Bindings: Arrival }>;

/** An endpoint for senders. */
export interface Endpoint {
  /** Its path, for traces. */
  route: string;
  methods: readonly string[];
  /** The longest body, in bytes. */
  bodyBytesMax: number;
  /** Whether it stores nothing, and so answers while more launches come than can be stored. */
  readsOnly?: boolean;
  /** Whether it goes on answering while the service stops. */
  answersWhileClosing: boolean;
  /**
   * Answers a request on a trigger that there is. Where that takes long, it first lets go of what the
   * body was read as, which would take room from others.
   */
  answer(prepared: PreparedTrigger, request: ArrivedRequest): Promise<Response>;
}

/**
 * Makes the handler of an endpoint.
 *
 * It is few functions that wait with a launch for its commit: what each of them keeps meanwhile is
 * copied by the collections of garbage.
 */
export function arrivalHandler(
  door: Door,
  endpoint: Endpoint,
): (context: SendersContext) => Response | Promise<Response> {
  const underWay = { count: 0 };
  const fullness = () => {
    if (underWay.count >= UNDER_WAY_MAX) return FULL;
    return endpoint.readsOnly ? undefined : door.acceptor.fullness;
  };
  const entrance = { door, endpoint, fullness, underWay };
  const trace = requestTracer();
  const { route, methods } = endpoint;
  return (context) => {
    const request = context.req.raw;
    const { method } = request;
    if (!methods.includes(method)) return methodNotAllowed(methods.join(", "));
    if (door.closing.aborted && !endpoint.answersWhileClosing) return unavailable(1);
    const full = context.env.isLate ? FULL : fullness();
    if (full) return turnAway(door, request, full);
    if (trace === undefined) return arrive(entrance, context);
    const traceparent = context.req.header("traceparent");
    return trace({ method, route, traceparent }, (span) => arrive(entrance, context, span));
  };
}

/** Where requests arrive. */
interface Entrance {
  door: Door;
  endpoint: Endpoint;
  /** Why nothing is taken on now; undefined when something may be. */
  fullness(): UnavailableError | undefined;
  /** The requests that wait for their answers. Those whose bodies are arriving are not among them. */
  underWay: { count: number };
}

/**
 * Turns a request away. A short body is read first: one that is left unread costs the connection, and a
 * new connection costs several times what reading does.
 */
async function turnAway(
  { bodies }: Door,
  request: Request,
  full: UnavailableError,
): Promise<Response> {
  using _held = await bodies.read(request, IN_ONE_PIECE_BYTES_MAX);
  return problemOfError(full);
}

async function arrive(
  { door, endpoint, fullness, underWay }: Entrance,
  context: SendersContext,
  span?: Span,
): Promise<Response> {
  const receivedAt_ms = door.clock.now() - (context.env.waited_ms ?? 0);
  const request = context.req.raw;
  const peer = door.peerOf(context);
  if (!peer.secure) return problem(STATUS_CODE.Forbidden);
  const id = context.req.param("trigger_id") ?? "";
  const found = isId(id) ? await door.triggers.prepared(id) : undefined;
  if (found === undefined) return problem(STATUS_CODE.NotFound);
  span?.setAttribute("hooklaunch.trigger", found.trigger.name);
  using held = await door.bodies.read(request, endpoint.bodyBytesMax);
  const { body } = held;
  if ("failure" in body) {
    const { method, headers } = request;
    const seen = { method, headers, remoteIp: peer.ip };
    if (body.failure === "too_large") note(door, found, seen, tooLarge(endpoint));
    if (body.failure === "too_many_parts") note(door, found, seen, TOO_MANY_PARTS);
    return bodyFailure(body.failure, door);
  }
  // Looked up once more: it may have been changed, or deleted, while the body arrived.
  const prepared = await door.triggers.prepared(id);
  if (prepared === undefined) return problem(STATUS_CODE.NotFound);
  // Others may have taken the last place while this one arrived.
  const full = fullness();
  if (full) return problemOfError(full);
  underWay.count++;
  try {
    using sent = new ArrivedRequest(request, body.bytes, {
      baseUrl: door.baseUrl(),
      remoteIp: peer.ip,
      receivedAt_ms,
      values: door.values,
    });
    // Awaited here: what the body was read as counts until it is answered.
    return await endpoint.answer(prepared, sent);
  } finally {
    underWay.count--;
  }
}

/** A refusal; without an index, or with one below 0, by a check that is no condition. */
type Why = Omit<Refused, "index"> & { index?: number };

/** Writes why a request is refused into the trigger log, and tells the sender nothing of it. */
export function refuse(
  door: Door,
  prepared: PreparedTrigger,
  request: LaunchRequest,
  why: Why,
): Response {
  note(door, prepared, request, why);
  return rejected();
}

function note(
  door: Door,
  { trigger: { id, name }, credentials }: PreparedTrigger,
  request: SeenRequest,
  { index = -1, ...refused }: Why,
): void {
  door.metrics.refused(refused.condition);
  if (door.triggerLog.hasRoom(id, "refused")) {
    const { condition } = refused;
    log.debug("A request to trigger {trigger} was refused by {condition}", {
      trigger: name,
      condition,
    });
    door.triggerLog.add(id, {
      kind: "refused",
      ...refused,
      ...(index < 0 ? {} : { condition_index: index }),
      request: requestFacts(request, credentials),
    });
  }
}

function tooLarge({ bodyBytesMax }: Endpoint): Why {
  return {
    condition: "body_size",
    reason: "The body is too large",
    expected: `at most ${bodyBytesMax} bytes`,
  };
}

function bodyFailure(
  failure: Extract<ReadBody, { failure: string }>["failure"],
  { breaksOff }: Door,
): Response {
  const headers = NOT_READ_ON;
  const later = { headers: { ...headers, "retry-after": "1" } };
  switch (failure) {
    case "too_large":
      return problem(STATUS_CODE.ContentTooLarge, { headers });
    case "too_slow":
      return problem(STATUS_CODE.RequestTimeout, { headers });
    case "too_many_parts":
      return problem(STATUS_CODE.BadRequest, { headers });
    case "no_memory":
      noteUnavailable(NO_MEMORY);
      return problem(STATUS_CODE.ServiceUnavailable, later);
    case "cut_off":
      return breaksOff()
        ? problem(STATUS_CODE.ServiceUnavailable, later)
        : problem(STATUS_CODE.BadRequest, { headers });
  }
}
