/**
 * The `Host` header. Deno makes a request's URL of it and the target as they stand: a host with a `/`, `?`
 * or `#` in it would become the beginning of the path.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { problem } from "./problem.ts";

/** `uri-host [ ":" port ]` (RFC 9110 section 7.2), its host as in RFC 3986 section 3.2.2. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i;

/** Refuses a request whose `Host` is no host. A request over HTTP/1.0 or HTTP/2 may have no such header. */
export function refuseHost(headers: Headers): Response | undefined {
  const host = headers.get("host");
  return host === null || HOST.test(host) ? undefined : noHost(`"${host}"`);
}

/**
 * Refuses a request whose `Host` makes no URL, such as `300.1.1.1`. Senders are answered nevertheless: their requests
 * need none.
 */
export function refuseUrl(request: Request): Response | undefined {
  return URL.canParse(request.url) ? undefined : noHost("one that makes no URL");
}

function noHost(found: string): Response {
  return problem(STATUS_CODE.BadRequest, {
    detail: `Expected the header Host to be a host, with a port or without, found ${found}`,
  });
}
