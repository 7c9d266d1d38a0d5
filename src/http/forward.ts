/**
 * Forwards requests of operators and jobs to the leader, where several instances share the database. The
 * leader believes what the forwarding instance says of the sender, since both have the same key.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { getLogger } from "@logtape/logtape";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../platform/clock.ts";
import { messageOf } from "../platform/errors.ts";
import type { Peer } from "./peer.ts";
import { problem } from "./problem.ts";

/** The header that names the sender of a forwarded request, with the time and a code of authenticity. */
const HOP_HEADER = "x-hooklaunch-hop";
const HOP_AGE_MAX_MS = 30_000;
/** Headers that belong to one connection (RFC 9110 section 7.6.1), and those that the leader must not get. */
const DROPPED = ["connection", "host", "keep-alive", "transfer-encoding", "upgrade", HOP_HEADER];
/** The paths that any instance answers itself. */
const OWN_PATHS = /^\/(?:healthz|readyz|metrics|docs(?:\/.*)?|api\/v0\/(?:openapi\.json|docs))\/?$/;

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
}

/** Signs forwarded requests, and recognises them. */
export class Hops {
  readonly #key: Uint8Array;
  readonly #clock: Pick<Clock, "now">;

  /** @param secret the same for all instances */
  constructor(secret: string, clock: Pick<Clock, "now">) {
    this.#key = createHmac("sha256", secret).update("hooklaunch hops").digest();
    this.#clock = clock;
  }

  /** Returns the header of a request that is forwarded for a sender. */
  sign(request: Request, ip: string): string {
    const time_ms = this.#clock.now();
    return `${time_ms} ${ip} ${this.#code(request, time_ms, ip)}`;
  }

  /** Returns the sender of a forwarded request; undefined for any other request. */
  senderOf(request: Request): Peer | undefined {
    const header = request.headers.get(HOP_HEADER);
    if (header === null) return undefined;
    const [time = "", ip = "", code = ""] = header.split(" ");
    const time_ms = Number(time);
    if (!(Math.abs(this.#clock.now() - time_ms) <= HOP_AGE_MAX_MS)) return undefined;
    const expected = this.#code(request, time_ms, ip);
    const isGenuine = code.length === expected.length &&
      timingSafeEqual(new TextEncoder().encode(code), new TextEncoder().encode(expected));
    return isGenuine ? { ip, secure: true } : undefined;
  }

  #code({ method, url }: Request, time_ms: number, ip: string): string {
    const { pathname, search } = new URL(url);
    const text = [time_ms, ip, method, pathname, search].join("\n");
    return createHmac("sha256", this.#key).update(text).digest("hex");
  }
}

/** Makes the middleware that forwards a request to the leader, or to the instance that has the files. */
export function forwardToLeader(
  leading: Leading,
  hops: Hops,
  peerOf: (context: Context) => Peer,
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
    return url === undefined
      ? unreachable()
      : await forwarded(request, url, hops.sign(request, peerOf(context).ip));
  };
}

async function forwarded(request: Request, leader: string, hop: string): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const headers = new Headers(request.headers);
  for (const name of DROPPED) headers.delete(name);
  headers.set(HOP_HEADER, hop);
  try {
    const { status, body, headers: answered } = await fetch(`${leader}${pathname}${search}`, {
      method: request.method,
      headers,
      body: request.body,
      redirect: "manual",
      signal: request.signal,
    });
    const kept = new Headers(answered);
    // The body is decoded already.
    for (const name of ["connection", "content-encoding", "content-length"]) kept.delete(name);
    return new Response(body, { status, headers: kept });
  } catch (error) {
    if (!request.signal.aborted) {
      log.warn("Cannot reach the instance at {url}: {error}", {
        url: leader,
        error: messageOf(error),
      });
    }
    return unreachable();
  }
}

function unreachable(): Response {
  return problem(STATUS_CODE.ServiceUnavailable, {
    detail: "The instance that answers this cannot be reached now. Try again",
    headers: { "retry-after": "1" },
  });
}
