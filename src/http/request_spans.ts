/**
 * Spans of incoming requests.
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

/** A request, without its secrets. */
interface TracedRequest {
  method: string;
  /** The path with names in place of its variable parts, such as `/api/v0/launch/{trigger_id}/`. */
  route: string;
  /**
   * The header of this name: ids and a bit. A valid one makes the request part of its sender's trace.
   * `tracestate` and `baggage` are a stranger's text, and are ignored.
   */
  traceparent: string | undefined;
}

/** Answers a request within a span. */
type TraceRequest = (
  request: TracedRequest,
  answer: (span?: Span) => Promise<Response>,
) => Promise<Response>;

/** Returns the function that traces requests; undefined where tracing is off, which then costs nothing. */
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
