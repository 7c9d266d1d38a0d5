/**
 * A stand-in for an OpenTelemetry collector, which keeps everything that it gets.
 *
 * @module
 */

/** A span as it was sent. */
export interface SentSpan {
  traceId: string;
  spanId: string;
  /** Absent in one that begins a trace. */
  parentSpanId: string | undefined;
  name: string;
  start_ms: number;
  end_ms: number;
  attributes: Record<string, string>;
  hasFailed: boolean;
}

/** A collector that listens. */
export interface Collector extends AsyncDisposable {
  /** What Deno must be told to export to it. */
  env: Record<string, string>;
  /** The bodies that it got, by path. */
  got: Map<string, string>;
  /** The spans that it got. */
  spans(): readonly SentSpan[];
}

/** Starts a collector. */
export function collect(): Collector {
  const got = new Map<string, string>();
  const spans: SentSpan[] = [];
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const server = Deno.serve(options, async (request) => {
    const { pathname } = new URL(request.url);
    const body = await request.text();
    got.set(pathname, (got.get(pathname) ?? "") + body);
    if (pathname === "/v1/traces") spans.push(...readSpans(JSON.parse(body)));
    return Response.json({});
  });
  return {
    got,
    spans: () => spans,
    env: {
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.addr.port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "100",
      OTEL_BLRP_SCHEDULE_DELAY: "100",
      OTEL_METRIC_EXPORT_INTERVAL: "300",
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

// The format is that of OTLP; a test that finds something else in it fails.
// deno-lint-ignore no-explicit-any
function readSpans({ resourceSpans }: any): SentSpan[] {
  return resourceSpans
    // deno-lint-ignore no-explicit-any
    .flatMap(({ scopeSpans }: any) => scopeSpans.flatMap(({ spans }: any) => spans))
    // deno-lint-ignore no-explicit-any
    .map((span: any): SentSpan => ({
      traceId: span.traceId,
      spanId: span.spanId,
      parentSpanId: span.parentSpanId || undefined,
      name: span.name,
      start_ms: Math.round(Number(span.startTimeUnixNano) / 1e6),
      end_ms: Math.round(Number(span.endTimeUnixNano) / 1e6),
      attributes: Object.fromEntries(
        // deno-lint-ignore no-explicit-any
        span.attributes.map(({ key, value }: any) => [key, String(Object.values(value)[0])]),
      ),
      hasFailed: span.status?.code === 2,
    }));
}
