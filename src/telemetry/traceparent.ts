/**
 * The header `traceparent` of W3C Trace Context, level 1: https://www.w3.org/TR/trace-context-1/
 *
 * @module
 */
import type { SpanContext } from "@opentelemetry/api";

const LENGTH = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".length;
/**
 * The fields that every version begins with. Upper-case digits and ids of zeros alone are invalid.
 */
const BEGINNING =
  /^([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?=-|$)/;
const SAMPLED = 0x01;

/** Parses a `traceparent`; returns undefined if it is not valid. */
export function parseTraceparent(text: string): SpanContext | undefined {
  const [, version, traceId, spanId, flags] = BEGINNING.exec(text) ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined) return undefined;
  if (version === "ff") return undefined;
  // Only a later version has more behind the flags.
  if (version === "00" && text.length !== LENGTH) return undefined;
  // The other flags are for later levels.
  return { traceId, spanId, traceFlags: parseInt(flags ?? "0", 16) & SAMPLED };
}

/** Formats the `traceparent` of a span. */
export function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags & SAMPLED ? "01" : "00"}`;
}
