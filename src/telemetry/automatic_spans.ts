/**
 * Refuses the spans that Deno makes by itself. They hold the whole URLs of incoming and outgoing
 * requests. A query may carry a token, and the path of a trigger without authentication is all that
 * it takes to launch it. What such a span holds can be added to but not taken away, so they must be
 * off.
 *
 * @module
 */
import { InvalidInputError } from "../platform/errors.ts";

/** The global under which a runtime registers itself with the OpenTelemetry API for JavaScript. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

/**
 * Checks that Deno makes no spans by itself, which it decides when the process starts.
 *
 * @throws {InvalidInputError} if it does
 */
export function refuseAutomaticSpans(): void {
  if (!("trace" in Object(Reflect.get(globalThis, REGISTERED)))) return;
  throw new InvalidInputError(
    "OTEL_DENO_TRACING",
    "Expected false while OTEL_DENO is true: the spans that Deno makes by itself hold whole " +
      "URLs, and with them the secrets of senders. With false, the spans of Hooklaunch's own are sent",
  );
}
