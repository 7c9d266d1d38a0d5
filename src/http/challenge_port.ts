/**
 * The port of plain HTTP beside that of HTTPS: a certificate authority looks there for the answers to its challenges, and
 * people who type an address without `https://` are led on. A launch is never redirected: its sender would go on sending
 * in the clear.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { refuseHost, refuseUrl } from "./host_header.ts";
import { methodNotAllowed, problem } from "./problem.ts";

/** The method and the body stay the same (RFC 9110 section 15.4.9). */
const PERMANENT_REDIRECT = 308;
const CHALLENGES = "/.well-known/acme-challenge/";
const LAUNCHES = "/api/v0/launch/";
/** The form of a challenge's token (RFC 8555 section 8.3), with a limit of its length. */
const TOKEN = /^[\w-]{1,256}$/;

/** The parts that the port uses. */
interface PortParts {
  /** Returns the answer to a challenge. */
  challenge(token: string): Promise<string | undefined>;
  /** Returns the address of the service over HTTPS for a host, without a slash at the end. */
  secureUrl(host: string): string;
}

/** Answers a request over plain HTTP. */
export async function answerPlain(request: Request, parts: PortParts): Promise<Response> {
  const refusal = refuseHost(request.headers) ?? refuseUrl(request);
  if (refusal !== undefined) return refusal;
  const { pathname, search, hostname } = new URL(request.url);
  if (pathname.startsWith(CHALLENGES)) {
    if (request.method !== "GET" && request.method !== "HEAD") return methodNotAllowed("GET, HEAD");
    const token = pathname.slice(CHALLENGES.length);
    const answer = TOKEN.test(token) ? await parts.challenge(token) : undefined;
    if (answer === undefined) return problem(STATUS_CODE.NotFound);
    return new Response(answer, { headers: { "content-type": "application/octet-stream" } });
  }
  if (pathname.startsWith(LAUNCHES)) return problem(STATUS_CODE.Forbidden);
  const location = `${parts.secureUrl(hostname)}${pathname}${search}`;
  return new Response(null, { status: PERMANENT_REDIRECT, headers: { location } });
}
