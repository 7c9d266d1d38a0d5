/**
 * Forwards requests of operators and jobs to the leader, where several instances share the database. The
 * leader believes what the forwarding instance says of the sender, since both have the same key.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/clock.ts";
import { messageOf } from "../platform/errors.ts";
import { every } from "../platform/waiting/timers.ts";
import { GONE_MS } from "../store/commit/instance_limits.ts";
import type { Hops } from "./hops.ts";
import type { Peer } from "./peer.ts";
import { problem } from "./problem.ts";

/** Headers that belong to one connection (RFC 9110 section 7.6.1), and those that the leader must not get. */
const DROPPED = ["connection", "host", "keep-alive", "transfer-encoding", "upgrade"];
/** The paths that any instance answers itself. */
const OWN_PATHS = /^\/(?:healthz|readyz|metrics|docs(?:\/.*)?|api\/v0\/(?:openapi\.json|docs))\/?$/;

/** The interval at which it is looked whether the instance that is to answer lives. */
const LOOK_MS = 1_000;
const RETRY_S = 5;

const log = getLogger(["hooklaunch", "http"]);

/** The paths that read the log and the outputs of an execution, which are on the machine that runs it. */
const FILE_PATHS =
  /^(?:\/api\/v0)?\/executions\/([0-9a-f-]{36})(?:\/(?:log|outputs?)(?:\/.*)?)?\/?$/;

/** The instance that answers a request. */
export interface Place {
  readonly isHere: boolean;
  /** Its address as other instances reach it; undefined when it is not known. */
  readonly url: string | undefined;
}

/** The leader, and the instances that have files. */
export interface Leading extends Place {
  /** Returns the instance that has the files of an execution; undefined when it is silent, or is not needed. */
  placeOf(executionId: string): Promise<Place | undefined>;
  /** Returns true for the address of an instance that counts as gone. */
  isGone(url: string): boolean;
}

/** Sends a request to another instance. */
export type SendToInstance = (url: string, init: RequestInit) => Promise<Response>;

interface ForwardParts {
  clock: Clock;
  peerOf(context: Context): Peer;
  send?: SendToInstance;
}

/** Makes the middleware that forwards a request to the leader, or to the instance that has the files. */
export function forwardToLeader(
  leading: Leading,
  hops: Hops,
  { clock, peerOf, send = fetch }: ForwardParts,
): MiddlewareHandler {
  return async function forward(context, next) {
    const request = context.req.raw;
    const { path } = context.req;
    if (OWN_PATHS.test(path)) return await next();
    const [, executionId] = request.method === "GET" && FILE_PATHS.exec(path) || [];
    const { isHere, url } = executionId && await leading.placeOf(executionId) || leading;
    if (isHere) return await next();
    // The leader or the place has changed meanwhile: whoever asked may ask again. Twice would be a circle.
    if (hops.senderOf(request) !== undefined) return unreachable();
    if (url === undefined) return unreachable();
    // The service passes what Deno tells of a request.
    const sent = (context.env as Partial<Deno.ServeHandlerInfo> | undefined)?.completed;
    const watch = new Watch(clock, request.signal, () => leading.isGone(url));
    const { ip } = peerOf(context);
    return await forwarded(request, url, { hops, send, ip, watch, sent });
  };
}

/** Watches whether the instance that is to answer lives. */
class Watch {
  readonly #gone = new AbortController();
  readonly signal: AbortSignal;
  readonly end: () => void;

  constructor(clock: Clock, asked: AbortSignal, isGone: () => boolean) {
    this.signal = AbortSignal.any([asked, this.#gone.signal]);
    this.end = every(clock, LOOK_MS, () => {
      if (isGone()) this.#gone.abort();
    });
  }

  /** True once it is not waited for any more. */
  get hasGivenUp(): boolean {
    return this.#gone.signal.aborted;
  }

  /**
   * Returns the events of an answer that has begun: they end once the instance counts as gone, so that whoever reads
   * them asks again.
   */
  events(events: ReadableStream<Uint8Array>, sent: Promise<unknown>): ReadableStream<Uint8Array> {
    void sent.then(this.end, this.end);
    const { signal } = this.#gone;
    return events.pipeThrough(
      new TransformStream({
        start: (stream) => signal.addEventListener("abort", () => stream.terminate()),
      }),
    );
  }
}

async function forwarded(
  request: Request,
  leader: string,
  { hops, send, ip, watch, sent }: {
    hops: Hops;
    send: SendToInstance;
    ip: string;
    watch: Watch;
    /** Settles when the answer has been sent. */
    sent: Promise<unknown> | undefined;
  },
): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const headers = new Headers(request.headers);
  for (const name of DROPPED) headers.delete(name);
  const init = {
    method: request.method,
    headers,
    body: hops.sign(request, ip, headers),
    redirect: "manual",
    signal: watch.signal,
  } as const;
  try {
    const { status, body, headers: answered } = await send(`${leader}${pathname}${search}`, init);
    const isEvents = answered.get("content-type")?.startsWith("text/event-stream");
    const shown = isEvents && body && sent ? watch.events(body, sent) : body;
    if (shown === body) watch.end();
    const kept = new Headers(answered);
    // The body is decoded already.
    for (const name of ["connection", "content-encoding", "content-length"]) kept.delete(name);
    return new Response(shown, { status, headers: kept });
  } catch (error) {
    watch.end();
    if (!request.signal.aborted) {
      log.warn("Cannot reach the instance at {url}: {error}", {
        url: leader,
        error: messageOf(error),
      });
    }
    return watch.hasGivenUp ? gone() : unreachable();
  }
}

function gone(): Response {
  return problem(STATUS_CODE.GatewayTimeout, {
    detail: `The instance that answers this has shown no sign of life for ${GONE_MS / 1_000} s. ` +
      "It may have begun with what was asked. Another one leads soon: look then, and ask again",
    headers: { "retry-after": String(RETRY_S) },
  });
}

function unreachable(): Response {
  return problem(STATUS_CODE.ServiceUnavailable, {
    detail: "The instance that answers this cannot be reached now. Try again",
    headers: { "retry-after": "1" },
  });
}
