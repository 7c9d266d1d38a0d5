/**
 * A request on its way to the Worker for heavy work, where expressions and schemas read it.
 *
 * @module
 */
import {
  JobFailedError,
  type JobInput,
  JobTimeoutError,
  WorkerLostError,
} from "../platform/heavy_work/job.ts";
import { claimsOf, keepClaims } from "./jwt/claims.ts";
import { type LaunchRequest, launchRequest } from "./request.ts";

/** A request as the Worker gets it. */
export interface RequestInput extends JobInput {
  headers: [name: string, value: string][];
  query: string;
  remoteIp: string;
  receivedAt_ms: number;
  /** The claims of its token. */
  claims: unknown;
}

/** Returns what the Worker needs of a request. */
export function requestInput(request: LaunchRequest): RequestInput {
  const { body: bytes, headers, query, remoteIp, receivedAt_ms } = request;
  return {
    bytes,
    headers: [...headers],
    query: query.toString(),
    remoteIp,
    receivedAt_ms,
    claims: claimsOf(request),
  };
}

/** Returns the request that was sent to the Worker, without its method and URL: no expression reads them. */
export function requestInWorker(
  { bytes: body, headers, query, remoteIp, receivedAt_ms, claims }: RequestInput,
): LaunchRequest {
  const request = launchRequest({
    method: "POST",
    url: "",
    headers: new Headers(headers),
    query: new URLSearchParams(query),
    body,
    remoteIp,
    receivedAt_ms,
  });
  keepClaims(request, claims);
  return request;
}

/** Returns why an evaluation in the Worker has failed; throws what is not its own fault. */
export function failureOf(error: unknown): string {
  if (error instanceof JobTimeoutError) return `it took longer than ${error.timeout_ms} ms`;
  if (error instanceof WorkerLostError) {
    return "it ended the Worker, as an evaluation that needs too much memory does";
  }
  if (error instanceof JobFailedError) return error.message;
  throw error;
}
