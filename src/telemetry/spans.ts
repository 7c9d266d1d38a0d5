/**
 * Spans of our own, through what Deno has of OpenTelemetry (`OTEL_DENO=true`), and the trace that work
 * belongs to.
 *
 * Work is in a trace when it runs within {@linkcode inTrace} or {@linkcode inSpan}, with everything
 * that it awaits. What goes on later, maybe after a restart, keeps the trace in its record: whoever
 * makes the record spreads {@linkcode activeTrace} into it, and whoever takes it up does so
 * {@linkcode inTrace}. Where nothing is sent, all of these do nothing, and no record says anything.
 *
 * @module
 */
import type { ContextManager, Span, SpanContext, SpanOptions, Tracer } from "@opentelemetry/api";
import { formatTraceparent, parseTraceparent } from "./traceparent.ts";

export type { Span } from "@opentelemetry/api";

/** `SpanStatusCode.ERROR` of OpenTelemetry's API for JavaScript. */
const STATUS_ERROR = 2;
/** Under which a context of that API holds its span. */
const SPAN_KEY = Symbol.for("OpenTelemetry Context Key SPAN");

/** Attributes of a span. They never hold anything that a sender wrote. */
export type Attributes = Record<string, string | number>;

/** The field by which a record keeps the trace that it belongs to. */
export interface Traced {
  /** The span that made it, as the header of that name would have it. */
  traceparent?: string;
}

const contexts: ContextManager = Deno.telemetry.contextManager;
const tracer = sendingTracer();

/** True when spans are exported, which Deno decides when the process starts. */
export const isTracing = tracer !== undefined;

/**
 * Does work in the trace of a span that was made earlier, or elsewhere.
 *
 * @param traceparent names that span; where it is absent or not valid, the work is in no trace, and
 * the first span of it begins a new one
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

/** Does work within a span of its own, which has failed when the work throws. */
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
 * A whole number as an attribute. What Deno is given as a number it sends as a floating-point one, which
 * collectors tell from the whole ones that conventions ask for.
 */
export function wholeAttribute(value: number): number {
  // The API's types do not know of what Deno takes beside numbers.
  return BigInt(value) as unknown as number;
}

/** Marks a span as one of work that failed. Why is in the log: a message could tell more than it may. */
export function markFailed(span: Span): void {
  span.setStatus({ code: STATUS_ERROR });
}

/** Something that has ended. Times are RFC 3339. */
export interface Past {
  /** The trace context of its record. */
  traceparent: string | undefined;
  start: string;
  end: string;
  attributes: Attributes;
  hasFailed: boolean;
}

/** Makes the span of something that has ended, which may have begun before the service did. */
export function pastSpan(name: string, { traceparent, start, end, ...past }: Past): void {
  if (tracer === undefined) return;
  const startTime = new Date(start);
  const { attributes } = past;
  const span = inTrace(traceparent, () => tracer.startSpan(name, { attributes, startTime }));
  if (past.hasFailed) markFailed(span);
  // The clock may have been set back meanwhile.
  span.end(new Date(Math.max(startTime.getTime(), Date.parse(end))));
}

/** The trace that this is done in, for a record that is being made. */
export function activeTrace(): Traced {
  const context = activeContext();
  return context === undefined ? {} : { traceparent: formatTraceparent(context) };
}

/** The id of the trace that this is done in, for the log. */
export function activeTraceId(): string | undefined {
  return activeContext()?.traceId;
}

function activeContext(): SpanContext | undefined {
  if (tracer === undefined) return undefined;
  // Nothing but spans is put there, by Deno and above.
  const span = contexts.active().getValue(SPAN_KEY) as Span | undefined;
  return span?.spanContext();
}

/** Deno's tracer; undefined where its spans go nowhere: Deno throws then when one is begun. */
function sendingTracer(): Tracer | undefined {
  const tracer: Tracer = Deno.telemetry.tracerProvider.getTracer("hooklaunch");
  try {
    // One that never ends is not sent.
    tracer.startSpan("start");
    return tracer;
  } catch {
    return undefined;
  }
}
