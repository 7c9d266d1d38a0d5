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
  InvalidInputError,
  messageOf,
  NotFoundError,
  type Problem,
  UnavailableError,
} from "../errors.ts";

const log = getLogger(["hooklaunch", "http"]);

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
    log.warn("{error}", { error: messageOf(error), code: error.code });
    return unavailable(error.retryAfter_s);
  }
  if (error instanceof InvalidInputError) {
    return problem(STATUS_CODE.UnprocessableEntity, {
      detail: error.message,
      errors: error.problems,
    });
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
