/**
 * Error responses: `application/problem+json` (RFC 9457).
 *
 * @module
 */
import { STATUS_CODE, STATUS_TEXT } from "@std/http/status";
import { getLogger } from "@logtape/logtape";
import {
  ActionError,
  ChangedError,
  ConflictError,
  ForbiddenError,
  IncompleteError,
  InvalidInputError,
  NotFoundError,
  type Problem,
  RemovedError,
  TooLargeError,
  UnavailableError,
} from "../platform/errors.ts";

/** The least time between two log lines about requests that are turned away: no log may fill a disk. */
const UNAVAILABLE_LOG_MS = 1_000;

/** The headers of an answer to a body that is not read to its end (RFC 9110 sections 15.5.9 and 15.5.14). */
export const NOT_READ_ON = { connection: "close" };

const log = getLogger(["hooklaunch", "http"]);
/** The time of the last such line, and the requests since then. */
const turnedAway = { logged_ms: -Infinity, requests: 0 };

/** The parts of an error response beside its status. */
export interface ProblemDetails {
  title?: string;
  detail?: string;
  errors?: readonly Problem[];
  headers?: Record<string, string>;
}

/** Makes an error response. Its title is the reason phrase of the status, unless another is given. */
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
 * Makes the answer to a refused request: the same bytes whatever refused it, so that a sender learns nothing, but
 * for a status that its trigger sets.
 */
export function rejected(
  status: number = STATUS_CODE.BadRequest,
  headers: Record<string, string> = {},
): Response {
  return problem(status, { title: "Request rejected", headers });
}

/** Makes the answer to a method that a path does not have. */
export function methodNotAllowed(allow: string): Response {
  return problem(STATUS_CODE.MethodNotAllowed, { headers: { allow } });
}

/** Makes the answer to a request that cannot be served now. */
export function unavailable(retryAfter_s: number): Response {
  return problem(STATUS_CODE.ServiceUnavailable, {
    headers: { "retry-after": String(retryAfter_s) },
  });
}

/** Makes the answer to a request from the error that it ended with. */
export function problemOfError(error: unknown): Response {
  if (error instanceof UnavailableError) {
    logTurnedAway(error);
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
  if (error instanceof RemovedError) {
    return problem(STATUS_CODE.Gone, { detail: error.message });
  }
  if (error instanceof ForbiddenError) {
    return problem(STATUS_CODE.Forbidden, { detail: error.message });
  }
  if (error instanceof ChangedError) {
    return problem(STATUS_CODE.PreconditionFailed, {
      detail: error.message,
      errors: error.differences,
    });
  }
  if (error instanceof ConflictError) {
    return problem(STATUS_CODE.Conflict, { detail: error.message });
  }
  // The cause is elsewhere, such as at the server of a repository.
  if (error instanceof ActionError) {
    return problem(STATUS_CODE.BadGateway, { detail: error.message });
  }
  log.error("A request failed: {error}", { error });
  return problem(STATUS_CODE.InternalServerError);
}

/** Logs a request that is turned away, at most once a second. */
export function logTurnedAway(error: UnavailableError): void {
  turnedAway.requests++;
  const now_ms = performance.now();
  if (now_ms - turnedAway.logged_ms < UNAVAILABLE_LOG_MS) return;
  const { requests } = turnedAway;
  log.warn("{error} ({requests} requests)", { error: error.message, code: error.code, requests });
  turnedAway.logged_ms = now_ms;
  turnedAway.requests = 0;
}
