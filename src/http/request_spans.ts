/**
 * Spans of requests that come in.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import {
  inSpan,
  inTrace,
  isTracing,
  markFailed,
  type Span,
  wholeAttribute,
} from "../telemetry/spans.ts";
import { problemOfError } from "./problem.ts";

/** `SpanKind.SERVER` of OpenTelemetry's API for JavaScript. */
const KIND_SERVER = 1;

/** A request, in words that tell no secret. */
export interface TracedRequest {
  method: string;
  /** The path with names in the place of what differs, such as `/api/v0/launch/{trigger_id}/`. */
  route: string;
  /**
   * The header of this name. A valid one makes the request part of its sender's trace: these are ids
   * and a bit. `tracestate` and `baggage` are text of a stranger's choosing, and are not looked at.
   */
  traceparent: string | undefined;
}

/** Answers a request within a span. */
export type TraceRequest = (
  request: TracedRequest,
  answer: (span?: Span) => Promise<Response>,
) => Promise<Response>;

/** Makes what traces requests; undefined where nothing is to be sent, so that it costs nothing then. */
export function requestTracer(): TraceRequest | undefined {
  return isTracing ? traceRequest : undefined;
}

function traceRequest(
  { method, route, traceparent }: TracedRequest,
  answer: (span?: Span) => Promise<Response>,
): Promise<Response> {
  const attributes = { "http.request.method": method, "http.route": route };
  return inTrace(
    traceparent,
    () =>
      inSpan(`${method} ${route}`, { kind: KIND_SERVER, attributes }, async (span) => {
        const response = await answer(span).catch(problemOfError);
        const { status } = response;
        span?.setAttribute("http.response.status_code", wholeAttribute(status));
        if (span && status >= STATUS_CODE.InternalServerError) markFailed(span);
        return response;
      }),
  );
}
