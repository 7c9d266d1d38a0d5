/**
 * Spans of Hooklaunch, through Deno's OpenTelemetry (`OTEL_DENO=true`), and the traces of work.
 *
 * Work is in a trace if it runs within {@linkcode inTrace} or {@linkcode inSpan}, with everything
 * that it awaits. Work that continues later, maybe after a restart, keeps the trace in its record:
 * the code that makes the record spreads {@linkcode activeTrace} into it, and the code that
 * continues the work runs it {@linkcode inTrace}. If Deno sends no spans, these functions do
 * nothing, and records have no trace.
 *
 * @module
 */
import type { ContextManager, Span, SpanContext, SpanOptions, Tracer } from "@opentelemetry/api";
import { formatTraceparent, parseTraceparent } from "./traceparent.ts";

export type { Span } from "@opentelemetry/api";

/** `SpanStatusCode.ERROR` of OpenTelemetry's API for JavaScript. */
const STATUS_ERROR = 2;
/** The key of the span in a context of that API. */
const SPAN_KEY = Symbol.for("OpenTelemetry Context Key SPAN");

/** Attributes of a span. They never hold anything that a sender wrote. */
export type Attributes = Record<string, string | number>;

/** The field of a record with its trace. */
interface Traced {
  /** The span that made the record, in the form of the header. */
  traceparent?: string;
}

const contexts: ContextManager = Deno.telemetry.contextManager;
const tracer = sendingTracer();

/** True when spans are exported, which Deno decides when the process starts. */
export const isTracing = tracer !== undefined;

/**
 * Does work in the trace of an earlier or remote span.
 *
 * @param traceparent the span; if it is absent or not valid, the first span of the work begins a
 *   new trace
 */
export function inTrace<T>(traceparent: string | undefined, work: () => T): T {
  if (tracer === undefined) return work();
  const parent = traceparent === undefined ? undefined : parseTraceparent(traceparent);
  const active = contexts.active();
  const context = parent === undefined
    ? active.deleteValue(SPAN_KEY)
    : active.setValue(SPAN_KEY, { spanContext: () => parent });
  return contexts.with(context, work);
}

/** Does work in a new span, which has failed if the work throws. */
export async function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span?: Span) => Promise<T>,
): Promise<T> {
  if (tracer === undefined) return await work();
  return await tracer.startActiveSpan(name, options, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      markFailed(span);
      throw error;
    } finally {
      span.end();
    }
  });
}

/**
 * Returns a whole number as an attribute. Deno sends a number as floating-point, and conventions
 * ask for whole numbers.
 */
export function wholeAttribute(value: number): number {
  // Deno takes a bigint, which the types of the API do not have.
  return BigInt(value) as unknown as number;
}

/** Marks a span as failed. The reason is only in the log: a message may contain private data. */
export function markFailed(span: Span): void {
  span.setStatus({ code: STATUS_ERROR });
}

/** Work that has ended. Times are RFC 3339. */
interface Past {
  /** The trace context of its record. */
  traceparent: string | undefined;
  start: string;
  end: string;
  attributes: Attributes;
  hasFailed: boolean;
}

/** Makes the span of work that has ended. It may have begun before the process did. */
export function pastSpan(name: string, { traceparent, start, end, ...past }: Past): void {
  if (tracer === undefined) return;
  const startTime = new Date(start);
  const { attributes } = past;
  const span = inTrace(traceparent, () => tracer.startSpan(name, { attributes, startTime }));
  if (past.hasFailed) markFailed(span);
  // The clock may have been set back.
  span.end(new Date(Math.max(startTime.getTime(), Date.parse(end))));
}

/** Returns the active trace, for a new record. */
export function activeTrace(): Traced {
  const context = activeContext();
  return context === undefined ? {} : { traceparent: formatTraceparent(context) };
}

/** Returns the id of the active trace, for the log. */
export function activeTraceId(): string | undefined {
  return activeContext()?.traceId;
}

function activeContext(): SpanContext | undefined {
  if (tracer === undefined) return undefined;
  // Deno and this module put only spans there.
  const span = contexts.active().getValue(SPAN_KEY) as Span | undefined;
  return span?.spanContext();
}

/** Returns Deno's tracer; undefined if Deno sends no spans, and throws when one begins. */
function sendingTracer(): Tracer | undefined {
  const tracer: Tracer = Deno.telemetry.tracerProvider.getTracer("hooklaunch");
  try {
    // A span that does not end is not sent.
    tracer.startSpan("start");
    return tracer;
  } catch {
    return undefined;
  }
}
