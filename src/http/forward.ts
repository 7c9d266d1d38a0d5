/**
 * Forwards requests of operators and jobs to another instance, where several share the database: to the leader what
 * its memory decides, and to the machine that has the files what is read from them. The other instance believes what
 * the forwarding one says of the sender, since both have the same key.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/clock.ts";
import { messageOf, UnavailableError } from "../platform/errors.ts";
import { every } from "../platform/waiting/timers.ts";
import { GONE_MS } from "../store/commit/instance_limits.ts";
import type { Grant } from "../store/records/passkeys.ts";
import type { Hops } from "./hops.ts";
import type { Peer } from "./peer.ts";
import { problem } from "./problem.ts";

/** Headers that belong to one connection (RFC 9110 section 7.6.1), and those that the leader must not get. */
const DROPPED = ["connection", "host", "keep-alive", "transfer-encoding", "upgrade"];
/** The interval at which it is looked whether the instance that is to answer lives. */
const LOOK_MS = 1_000;
const RETRY_S = 5;
/** A read does not wait for an instance that has been silent for so long. */
const SILENT_MS = 5_000;

const log = getLogger(["hooklaunch", "http"]);

/** The paths that show the log and the outputs of an execution, which are on the machine that runs it. */
const FILE_PATHS =
  /^\/(?:api\/v0\/executions\/([0-9a-f-]{36})\/(?:log|outputs)(?:\/.*)?|executions\/([0-9a-f-]{36})(?:\/(?:log|outputs?)(?:\/.*)?)?)\/?$/;

/** The instance that answers a request. */
export interface Place {
  readonly isHere: boolean;
  /** Its address as other instances reach it; undefined when it is not known. */
  readonly url: string | undefined;
}

/** The leader, and the instances that have files. */
export interface Leading extends Place {
  /** True while this instance can read what is stored: it is of its own format, and the database answers. */
  readonly canRead: boolean;
  /** Returns the instance that has the files of an execution; undefined when it is silent, or is not needed. */
  placeOf(executionId: string): Promise<Place | undefined>;
  /**
   * Returns true for the address of an instance that has been silent for so long; by default for as long as that it
   * counts as gone.
   */
  isGone(url: string, silent_ms?: number): boolean;
}

/** Sends a request to another instance. */
export type SendToInstance = (url: string, init: RequestInit) => Promise<Response>;

interface ForwardParts {
  clock: Clock;
  peerOf(context: Context): Peer;
  send?: SendToInstance;
}

/** The operator who asks, as this instance has checked. */
interface Asker {
  remoteIp: string;
  grant: Grant;
}

/** The ways to the other instances. */
export class Forwarding {
  readonly #leading: Leading;
  readonly #hops: Hops;
  readonly #parts: ForwardParts;

  constructor(leading: Leading, hops: Hops, parts: ForwardParts) {
    this.#leading = leading;
    this.#hops = hops;
    this.#parts = parts;
  }

  /** Leads what is at a path to the leader. */
  readonly toLeader: MiddlewareHandler = async (context, next) => {
    const { isHere } = this.#leading;
    return isHere ? await next() : await this.#sent(context, this.#leading.url);
  };

  /**
   * Answers what is at a path here, as far as this instance can read what is stored; logs and outputs come from the
   * machine that has them. What else needs the leader is declared at each operation.
   */
  readonly toAny: MiddlewareHandler = async (context, next) => {
    const { isHere, canRead, url } = this.#leading;
    const found = context.req.method === "GET" ? FILE_PATHS.exec(context.req.path) : undefined;
    const executionId = found?.[1] ?? found?.[2];
    const place = executionId && await this.#leading.placeOf(executionId);
    if (place) return place.isHere ? await next() : await this.#sent(context, place.url);
    return isHere || canRead ? await next() : await this.#sent(context, url);
  };

  /** Answers a page here, and leads a form to the leader. */
  readonly pageToAny: MiddlewareHandler = async (context, next) => {
    const isPage = ["GET", "HEAD"].includes(context.req.method);
    return await (isPage ? this.toAny : this.toLeader)(context, next);
  };

  /** Asks the leader; undefined where this instance is the leader. */
  askLeader(context: Context, { remoteIp: ip, grant }: Asker): Promise<Response> | undefined {
    const { isHere, url } = this.#leading;
    if (isHere) return undefined;
    const hasToken = context.req.header("authorization") !== undefined;
    return this.#sent(context, url, { ip, ...(!hasToken && { grant }) });
  }

  async #sent(
    context: Context,
    url: string | undefined,
    { ip = this.#parts.peerOf(context).ip, grant }: { ip?: string; grant?: Grant } = {},
  ): Promise<Response> {
    const request = context.req.raw;
    const { clock, send = fetch } = this.#parts;
    // The leader or the place has changed meanwhile: whoever asked may ask again. Twice would be a circle.
    if (this.#hops.senderOf(request) !== undefined || url === undefined) return unreachable();
    // A read that has begun changes nothing.
    const silent_ms = request.method === "GET" ? SILENT_MS : undefined;
    const isGone = (silent_ms?: number) => this.#leading.isGone(url, silent_ms);
    if (silent_ms !== undefined && isGone(silent_ms)) return unreachable();
    const watch = new Watch(clock, request.signal, { isGone, silent_ms });
    return await forwarded(request, url, { hops: this.#hops, send, ip, grant, watch });
  }
}

/** Watches whether the instance that is to answer lives. */
class Watch {
  readonly #gone = new AbortController();
  readonly signal: AbortSignal;
  readonly end: () => void;
  #silent_ms: number | undefined;

  constructor(
    clock: Clock,
    asked: AbortSignal,
    { isGone, silent_ms }: {
      isGone(silent_ms: number | undefined): boolean;
      silent_ms: number | undefined;
    },
  ) {
    this.#silent_ms = silent_ms;
    this.signal = AbortSignal.any([asked, this.#gone.signal]);
    this.end = every(clock, LOOK_MS, () => {
      if (isGone(this.#silent_ms)) this.#gone.abort();
    });
    this.signal.addEventListener("abort", this.end, { once: true });
  }

  /** True once it is not waited for any more. */
  get hasGivenUp(): boolean {
    return this.#gone.signal.aborted;
  }

  /**
   * Returns the body of an answer that has begun. Once the instance counts as gone, events end, so that whoever reads
   * them asks again, and another answer breaks off.
   */
  shown(body: ReadableStream<Uint8Array>, isEvents: boolean): ReadableStream<Uint8Array> {
    // A file may come well while the database does not answer for some seconds.
    if (!isEvents) this.#silent_ms = undefined;
    const { signal } = this.#gone;
    const breakOff = (stream: TransformStreamDefaultController) =>
      isEvents ? stream.terminate() : stream.error(brokenOff());
    return body.pipeThrough(
      new TransformStream({
        start: (stream) => signal.addEventListener("abort", () => breakOff(stream)),
        flush: this.end,
        cancel: this.end,
      }),
    );
  }
}

async function forwarded(
  request: Request,
  leader: string,
  { hops, send, ip, grant, watch }: {
    hops: Hops;
    send: SendToInstance;
    ip: string;
    grant: Grant | undefined;
    watch: Watch;
  },
): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const headers = new Headers(request.headers);
  for (const name of DROPPED) headers.delete(name);
  const init = {
    method: request.method,
    headers,
    body: hops.sign(request, ip, headers, grant),
    redirect: "manual",
    signal: watch.signal,
  } as const;
  try {
    const { status, body, headers: answered } = await send(`${leader}${pathname}${search}`, init);
    const isEvents = answered.get("content-type")?.startsWith("text/event-stream") === true;
    const shown = body && watch.shown(body, isEvents);
    if (shown === null) watch.end();
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
    return watch.hasGivenUp && request.method !== "GET" ? gone() : unreachable();
  }
}

function brokenOff(): UnavailableError {
  return new UnavailableError("The instance that answers this is gone", RETRY_S);
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
