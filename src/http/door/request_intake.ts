/**
 * The first part of both endpoints for senders: method, HTTPS, trigger, the checks of the head, and the
 * body.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { readPart } from "../../conditions/body_part.ts";
import { declaredLength } from "../../conditions/request.ts";
import { UnavailableError } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import { networkOf } from "../../platform/network/ip_ranges.ts";
import type { Span } from "../../telemetry/spans.ts";
import { KEPT_BODY_BYTES_MAX } from "../../store/records/kept_requests.ts";
import { inspectHead, type Order, type Refused, tooLarge } from "../../triggers/order.ts";
import type { PreparedTrigger } from "../../triggers/prepare.ts";
import type { Trigger } from "../../triggers/trigger.ts";
import type { BodyFailure, HeldBody } from "../body.ts";
import { endAfter } from "../http2.ts";
import {
  logTurnedAway,
  methodNotAllowed,
  NOT_READ_ON,
  problem,
  problemOfError,
  unavailable,
} from "../problem.ts";
import { requestTracer } from "../request_spans.ts";
import { countDelivery, type Door } from "./door.ts";
import { IncomingRequest } from "./incoming_request.ts";
import { noteRefusal, refuse, TOO_MANY_PARTS } from "./refusal.ts";
import type { HandlerInfo } from "./request_queue.ts";

/** The requests to one endpoint that may wait for their answers, once their bodies are read. */
const UNDER_WAY_MAX = 4_096;

/** Made once, since many requests get them. */
const FULL = new UnavailableError("Cannot accept requests: too many wait for their answers", 1);
const NO_MEMORY = new UnavailableError("Cannot accept requests: too many bodies are arriving", 1);

/** A request to an endpoint for senders. */
export type SendersContext = Context<{ Bindings: HandlerInfo }>;

/** An endpoint for senders. */
interface Endpoint {
  /** Its path, for traces. */
  route: string;
  methods: readonly string[];
  /** True for launch URLs: a request is a delivery that the owner can find. */
  isDelivery: boolean;
  /** Set for an endpoint that stores nothing: it answers while more launches come than can be stored. */
  readsOnly?: boolean;
  /** Set for an endpoint that goes on answering while the service stops. */
  answersWhileClosing: boolean;
  /** Returns the checks of a request to it. */
  order(prepared: PreparedTrigger): Order;
  /**
   * Answers a request whose head was checked. An answer that takes long first disposes of the request,
   * whose parsed body would take room from others.
   */
  answer(prepared: PreparedTrigger, request: IncomingRequest): Promise<Response>;
}

/** Makes the handler of an endpoint. */
export function intakeHandler(
  door: Door,
  endpoint: Endpoint,
): (context: SendersContext) => Promise<Response> {
  const intake = new Intake(door, endpoint);
  const trace = requestTracer();
  const { route, methods } = endpoint;
  return (context) => {
    const request = context.req.raw;
    const { method } = request;
    if (!methods.includes(method)) {
      return intake.answerUnread(request, methodNotAllowed(methods.join(", ")));
    }
    if (door.closing.aborted && !endpoint.answersWhileClosing) {
      return Promise.resolve(unavailable(door.retryAfterStop_s()));
    }
    const full = context.env.isLate ? intake.lateness : intake.fullness;
    if (full) return intake.turnAway(context, full);
    if (trace === undefined) return intake.handle(context);
    const traceparent = context.req.header("traceparent");
    return trace({ method, route, traceparent }, (span) => intake.handle(context, span));
  };
}

/** Takes in the requests to one endpoint. */
class Intake {
  readonly #door: Door;
  readonly #endpoint: Endpoint;
  /** The requests that wait for their answers. Those whose bodies are arriving are not among them. */
  #underWay = 0;

  constructor(door: Door, endpoint: Endpoint) {
    this.#door = door;
    this.#endpoint = endpoint;
  }

  /** The reason to turn away a request that has waited too long. */
  get lateness(): UnavailableError {
    const slowness = this.#endpoint.readsOnly ? undefined : this.#door.acceptor.slowness;
    return slowness ?? FULL;
  }

  /** The reason to turn away a request that comes now; undefined when there is room for one. */
  get fullness(): UnavailableError | undefined {
    if (this.#underWay >= UNDER_WAY_MAX) return FULL;
    return this.#endpoint.readsOnly ? undefined : this.#door.acceptor.fullness;
  }

  /** Gives an answer that does not depend on the body, which is read and dropped where that helps. */
  async answerUnread(request: Request, answer: Response): Promise<Response> {
    const isRead = await this.#door.bodies.discard(request);
    return isRead ? answer : notReadOn(answer);
  }

  /** Answers a request that there is no room for. It is counted where that takes no read. */
  async turnAway(context: SendersContext, full: UnavailableError): Promise<Response> {
    const id = context.req.param("trigger_id") ?? "";
    const trigger = this.#door.triggers.inMemory(id);
    if (trigger !== undefined) this.#countTurnedAway(trigger);
    return await this.answerUnread(context.req.raw, problemOfError(full));
  }

  #countTurnedAway(trigger: Trigger): void {
    if (!this.#endpoint.isDelivery) return;
    this.#door.triggerLog.omit(trigger, "unavailable");
    countDelivery(this.#door, trigger.id, "unavailable");
  }

  async handle(context: SendersContext, span?: Span): Promise<Response> {
    const door = this.#door;
    const receivedAt_ms = door.clock.now() - (context.env.waited_ms ?? 0);
    const request = context.req.raw;
    const peer = door.peerOf(context);
    if (!peer.secure) return await this.answerUnread(request, problem(STATUS_CODE.Forbidden));
    const id = context.req.param("trigger_id") ?? "";
    let found = isId(id) ? await this.#known(id) : undefined;
    if (found === undefined) return await this.answerUnread(request, problem(STATUS_CODE.NotFound));
    using incoming = new IncomingRequest(request, {
      baseUrl: door.baseUrl(),
      remoteIp: peer.ip,
      receivedAt_ms,
      isDelivery: this.#endpoint.isDelivery,
      values: door.values,
      readPart: ({ body: bytes, headers, signal }, part) => {
        const contentType = headers.get("content-type") ?? "";
        const options = { key: id, ...(signal && { signal }) };
        return readPart(door.heavyWork, { bytes, contentType, part }, options);
      },
    });
    let refused = inspectHead(this.#endpoint.order(found), incoming);
    if (refused && door.store.shared) {
      found = await this.#current(id);
      if (found === undefined) {
        return await this.answerUnread(request, problem(STATUS_CODE.NotFound));
      }
      refused = inspectHead(this.#endpoint.order(found), incoming);
    }
    span?.setAttribute("hooklaunch.trigger", found.trigger.name);
    if (refused && !this.#keepsBody(found, incoming, refused)) {
      return await this.answerUnread(request, refuse(door, found, incoming.head, refused));
    }
    const { bodyBytesMax } = this.#endpoint.order(found);
    const limit_bytes = refused ? KEPT_BODY_BYTES_MAX : bodyBytesMax;
    const owners = () => [`trigger ${id}`, `network ${networkOf(peer.ip)}`];
    const held = await door.bodies.read(request, limit_bytes, owners);
    try {
      const { body } = held;
      if ("failure" in body) {
        return refused
          ? await endAfter(held.rest, notReadOn(refuse(door, found, incoming.head, refused)))
          : await this.#refuseBody(held, body.failure, { found, incoming });
      }
      incoming.body = body.bytes;
      incoming.holdMemory = (bytes) => held.grow(bytes);
      return refused ? refuse(door, found, incoming, refused) : await this.#answer(found, incoming);
    } finally {
      const release = () => held[Symbol.dispose]();
      if (incoming.inUse) void incoming.inUse.then(release, release);
      else release();
    }
  }

  /** Returns true when the body of a request that is refused by its head is read: it is to be kept, or listened to. */
  #keepsBody(
    { trigger }: PreparedTrigger,
    { headers }: IncomingRequest,
    { condition }: Refused,
  ): boolean {
    if (!this.#endpoint.isDelivery || condition === "body_size") return false;
    const { keptRequests, listeners } = this.#door;
    const length = declaredLength(headers) ?? 0;
    return keptRequests.hasRoom(trigger, length) ||
      length <= KEPT_BODY_BYTES_MAX && listeners.has(trigger.id);
  }

  /**
   * Returns a trigger as this instance knows it. Another instance may have changed it since. The commit of a
   * launch checks that. A refusal reads the trigger's version first.
   */
  #known(id: string): PreparedTrigger | undefined | Promise<PreparedTrigger | undefined> {
    const { triggers, databaseDeadline, store: { shared } } = this.#door;
    if (shared && (this.#endpoint.readsOnly || triggers.inMemory(id) === undefined)) {
      return this.#current(id);
    }
    const prepared = triggers.prepared(id);
    return prepared instanceof Promise ? databaseDeadline.read(prepared) : prepared;
  }

  /** Returns a trigger as it is now, at all instances. One read serves all requests that wait. */
  #current(id: string): Promise<PreparedTrigger | undefined> {
    const { triggers, databaseDeadline, store: { shared } } = this.#door;
    const read = async () => {
      await shared?.triggers.sync();
      return await triggers.prepared(id);
    };
    return databaseDeadline.read(read());
  }

  async #refuseBody(
    { rest }: HeldBody,
    failure: BodyFailure,
    { found, incoming: { head } }: { found: PreparedTrigger; incoming: IncomingRequest },
  ): Promise<Response> {
    const door = this.#door;
    if (failure === "too_large") {
      // The next request meets the limit as it is now.
      if (door.store.shared) await this.#current(found.trigger.id);
      return refuse(door, found, head, tooLarge(this.#endpoint.order(found)));
    }
    const answer = bodyFailure(failure, door);
    if (failure === "too_many_parts") {
      noteRefusal(door, found, head, { refused: TOO_MANY_PARTS, status: answer.status });
    } else if (failure === "no_memory") this.#countTurnedAway(found.trigger);
    return await endAfter(rest, answer);
  }

  async #answer(found: PreparedTrigger, incoming: IncomingRequest): Promise<Response> {
    const door = this.#door;
    // It may have been changed, or deleted, while the body arrived.
    const prepared = await this.#known(found.trigger.id);
    if (prepared === undefined) return problem(STATUS_CODE.NotFound);
    const refused = prepared === found
      ? undefined
      : inspectHead(this.#endpoint.order(prepared), incoming);
    if (refused) return refuse(door, prepared, incoming, refused);
    // Others may have taken the last place meanwhile.
    const { fullness } = this;
    if (fullness) {
      this.#countTurnedAway(prepared.trigger);
      return problemOfError(fullness);
    }
    this.#underWay++;
    try {
      return await this.#endpoint.answer(prepared, incoming);
    } finally {
      this.#underWay--;
    }
  }
}

/** Says in an answer that the connection ends: the rest of the body is not read. */
function notReadOn(answer: Response): Response {
  answer.headers.set("connection", NOT_READ_ON.connection);
  return answer;
}

function bodyFailure(
  failure: Exclude<BodyFailure, "too_large">,
  { breaksOff }: Door,
): Response {
  const headers = NOT_READ_ON;
  const later = { headers: { ...headers, "retry-after": "1" } };
  switch (failure) {
    case "too_slow":
      return problem(STATUS_CODE.RequestTimeout, { headers });
    case "too_many_parts":
      return problem(STATUS_CODE.BadRequest, { headers });
    case "no_memory":
      logTurnedAway(NO_MEMORY);
      return problem(STATUS_CODE.ServiceUnavailable, later);
    case "cut_off":
      return breaksOff()
        ? problem(STATUS_CODE.ServiceUnavailable, later)
        : problem(STATUS_CODE.BadRequest, { headers });
  }
}
