/**
 * Error answers: `application/problem+json` (RFC 9457).
 *
 * @module
 */
import { STATUS_CODE, STATUS_TEXT } from "@std/http/status";
import { getLogger } from "@logtape/logtape";
import {
  ActionError,
  ConflictError,
  IncompleteError,
  InvalidInputError,
  NotFoundError,
  type Problem,
  TooLargeError,
  UnavailableError,
} from "../platform/errors.ts";

/** How often it is logged that requests cannot be taken on: a full disk must not be filled by its log. */
const UNAVAILABLE_LOG_MS = 1_000;

/** Of the answer to a body that is not read to its end (RFC 9110 sections 15.5.9 and 15.5.14). */
export const NOT_READ_ON = { connection: "close" };

const log = getLogger(["hooklaunch", "http"]);
/** When that was logged last, and how many there were since. */
const turnedAway = { logged_ms: -Infinity, requests: 0 };

/** What an error answer says beside its status. */
export interface ProblemDetails {
  title?: string;
  detail?: string;
  errors?: readonly Problem[];
  headers?: Record<string, string>;
}

/** Makes an error answer; the title is the status's own unless another is given. */
export function problem(status: number, details: ProblemDetails = {}): Response {
  const { title = STATUS_TEXT[status] ?? "Error", detail, errors, headers } = details;
  const body = JSON.stringify({ title, status, detail, errors });
  return new Response(body, {
    status,
    headers: {
      "content-type": "application/problem+json",
      "x-content-type-options": "nosniff",
      ...headers,
    },
  });
}

/**
 * The answer to a refused launch: one and the same whatever refused it, so that a sender learns
 * nothing of why.
 */
export function rejected(): Response {
  return problem(STATUS_CODE.BadRequest, { title: "Request rejected" });
}

/** The answer to a method that a path does not have. */
export function methodNotAllowed(allow: string): Response {
  return problem(STATUS_CODE.MethodNotAllowed, { headers: { allow } });
}

/** The answer to a request that cannot be taken on now. */
export function unavailable(retryAfter_s: number): Response {
  return problem(STATUS_CODE.ServiceUnavailable, {
    headers: { "retry-after": String(retryAfter_s) },
  });
}

/** The answer to a request during which something was thrown. */
export function problemOfError(error: unknown): Response {
  if (error instanceof UnavailableError) {
    noteUnavailable(error);
    return unavailable(error.retryAfter_s);
  }
  if (error instanceof InvalidInputError) {
    return problem(STATUS_CODE.UnprocessableEntity, {
      detail: error.message,
      errors: error.problems,
    });
  }
  if (error instanceof IncompleteError) {
    const status = error.isLate ? STATUS_CODE.RequestTimeout : STATUS_CODE.BadRequest;
    return problem(status, { detail: error.message, headers: NOT_READ_ON });
  }
  if (error instanceof TooLargeError) {
    return problem(STATUS_CODE.ContentTooLarge, { detail: error.message, headers: NOT_READ_ON });
  }
  if (error instanceof NotFoundError) {
    return problem(STATUS_CODE.NotFound, { detail: error.message });
  }
  if (error instanceof ConflictError) {
    return problem(STATUS_CODE.Conflict, { detail: error.message });
  }
  // What an operator asked for failed elsewhere, such as at the server of a repository.
  if (error instanceof ActionError) {
    return problem(STATUS_CODE.BadGateway, { detail: error.message });
  }
  log.error("A request failed: {error}", { error });
  return problem(STATUS_CODE.InternalServerError);
}

/** Tells the operator of a request that is turned away, at most once a second. */
export function noteUnavailable(error: UnavailableError): void {
  turnedAway.requests++;
  const now_ms = performance.now();
  if (now_ms - turnedAway.logged_ms < UNAVAILABLE_LOG_MS) return;
  const { requests } = turnedAway;
  log.warn("{error} ({requests} requests)", { error: error.message, code: error.code, requests });
  turnedAway.logged_ms = now_ms;
  turnedAway.requests = 0;
}
