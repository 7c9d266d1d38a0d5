/**
 * From an HTTP request to what conditions and the trigger log see of it.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { type LaunchRequest, launchRequest } from "../conditions/request.ts";
import type { RequestFacts } from "../store/trigger_log.ts";

/** Headers whose values the trigger log shows: none of them carries a credential. */
const SHOWN_HEADERS = new Set([
  "accept",
  "content-length",
  "content-type",
  "date",
  "host",
  "user-agent",
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-github-delivery",
  "x-github-event",
  "x-gitlab-event",
  "x-request-id",
  "x-slack-request-timestamp",
  "x-timestamp",
]);
const HIDDEN = "********";
const HEADER_NAME_LENGTH_MAX = 100;
const HEADER_VALUE_LENGTH_MAX = 200;
const HEADERS_SHOWN_MAX = 64;

/** Makes a {@linkcode LaunchRequest} from a request whose body has been read. */
export function toLaunchRequest(
  request: Request,
  url: URL,
  body: Uint8Array,
  { baseUrl, remoteIp, receivedAt_ms }: {
    baseUrl: string;
    remoteIp: string;
    receivedAt_ms: number;
  },
): LaunchRequest {
  return launchRequest({
    method: request.method,
    path: url.pathname,
    url: baseUrl + url.pathname + url.search,
    query: url.searchParams,
    headers: request.headers,
    body,
    remoteIp,
    receivedAt_ms,
  });
}

/** What the trigger log tells of a request. Credentials are not among it. */
export function requestFacts(request: LaunchRequest): RequestFacts {
  const headers: Record<string, string> = {};
  let shown = 0;
  for (const [name, value] of request.headers) {
    if (shown++ >= HEADERS_SHOWN_MAX) break;
    headers[name.slice(0, HEADER_NAME_LENGTH_MAX)] = SHOWN_HEADERS.has(name)
      ? value.slice(0, HEADER_VALUE_LENGTH_MAX)
      : HIDDEN;
  }
  return {
    method: request.method,
    remote_ip: request.remoteIp,
    headers,
    size: request.body.length,
    sha256: createHash("sha256").update(request.body).digest("hex"),
  };
}
