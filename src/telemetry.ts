/**
 * What goes to an OpenTelemetry collector when Deno is told to send it (`OTEL_DENO=true`): its logs
 * and metrics, and the spans that are made here.
 *
 * The spans that Deno makes by itself hold whole URLs, of requests that come in and of those that go
 * out. A query may carry a token, and the path of a trigger without authentication is all that it
 * takes to launch it. What such a span holds can be added to but not taken away, so they must be off.
 *
 * @module
 */
import { InvalidInputError } from "./errors.ts";

/** Where the API of OpenTelemetry for JavaScript finds what a runtime has registered. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
/** `SpanKind.SERVER` of that API. */
const KIND_SERVER = 1;
/** `SpanStatusCode.ERROR` of that API. */
const STATUS_ERROR = 2;

/** A span under way, as far as it is used. */
export interface Span {
  setAttribute(name: string, value: string): unknown;
}

/** A request, in words that tell no secret. */
export interface TracedRequest {
  method: string;
  /** The path with names in the place of what differs, such as `/api/v0/launch/{trigger_id}/`. */
  route: string;
}

/** Answers a request within a span. */
export type TraceRequest = (
  request: TracedRequest,
  answer: (span: Span) => Promise<Response>,
) => Promise<Response>;

/** `Tracer` of the API, as far as it is used. */
interface Tracer {
  startSpan(name: string): unknown;
  startActiveSpan<T>(
    name: string,
    options: { kind: number; root: boolean; attributes: Record<string, string> },
    work: (span: Span & { setStatus(status: { code: number }): unknown; end(): void }) => T,
  ): T;
}

/**
 * Refuses to go on while Deno makes spans by itself. It decides so when the process starts, and does
 * not take it back.
 *
 * @throws {InvalidInputError} when it does
 */
export function refuseAutomaticSpans(): void {
  if (!("trace" in Object(Reflect.get(globalThis, REGISTERED)))) return;
  throw new InvalidInputError("OTEL_DENO_TRACING", [{
    pointer: "",
    detail:
      "Expected false while OTEL_DENO is true: the spans that Deno makes by itself hold whole " +
      "URLs, and with them the secrets of senders. With false, the spans of Hooklaunch's own are sent",
  }]);
}

/**
 * Makes what traces requests; undefined where nothing is to be sent, so that it costs nothing then.
 *
 * Each request begins a trace of its own: a sender's `traceparent` and `tracestate` are text of a
 * stranger's choosing.
 */
export function requestTracer(): TraceRequest | undefined {
  const tracer: Tracer = Deno.telemetry.tracerProvider.getTracer("hooklaunch");
  if (!isSent(tracer)) return undefined;
  return ({ method, route }, answer) => {
    const attributes = { "http.request.method": method, "http.route": route };
    const options = { kind: KIND_SERVER, root: true, attributes };
    return tracer.startActiveSpan(`${method} ${route}`, options, async (span) => {
      try {
        const response = await answer(span);
        span.setAttribute("http.response.status_code", String(response.status));
        return response;
      } catch (error) {
        // What was thrown is logged; here, its message could tell more than it may.
        span.setStatus({ code: STATUS_ERROR });
        throw error;
      } finally {
        span.end();
      }
    });
  };
}

/** Whether spans go anywhere: Deno throws when one is begun and they do not. One that never ends is not sent. */
function isSent(tracer: Tracer): boolean {
  try {
    tracer.startSpan("start");
    return true;
  } catch {
    return false;
  }
}
