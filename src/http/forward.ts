/**
 * Forwards requests of operators and jobs to the leader, where several instances share the database. The
 * leader believes what the forwarding instance says of the sender, since both have the same key.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../platform/errors.ts";
import type { Hops } from "./hops.ts";
import type { Peer } from "./peer.ts";
import { problem } from "./problem.ts";

/** Headers that belong to one connection (RFC 9110 section 7.6.1), and those that the leader must not get. */
const DROPPED = ["connection", "host", "keep-alive", "transfer-encoding", "upgrade"];
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

/** Sends a request to another instance. */
export type SendToInstance = (url: string, init: RequestInit) => Promise<Response>;

/** Makes the middleware that forwards a request to the leader, or to the instance that has the files. */
export function forwardToLeader(
  leading: Leading,
  hops: Hops,
  { peerOf, send = fetch }: { peerOf(context: Context): Peer; send?: SendToInstance },
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
      : await forwarded(request, url, { hops, send, ip: peerOf(context).ip });
  };
}

async function forwarded(
  request: Request,
  leader: string,
  { hops, send, ip }: { hops: Hops; send: SendToInstance; ip: string },
): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const headers = new Headers(request.headers);
  for (const name of DROPPED) headers.delete(name);
  const body = hops.sign(request, ip, headers);
  try {
    const { status, body: sent, headers: answered } = await send(`${leader}${pathname}${search}`, {
      method: request.method,
      headers,
      body,
      redirect: "manual",
      signal: request.signal,
    });
    const kept = new Headers(answered);
    // The body is decoded already.
    for (const name of ["connection", "content-encoding", "content-length"]) kept.delete(name);
    return new Response(sent, { status, headers: kept });
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
