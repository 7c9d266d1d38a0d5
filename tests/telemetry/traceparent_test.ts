/**
 * The header `traceparent`: what is read of it, by the rules of W3C Trace Context, and what is not.
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { formatTraceparent, parseTraceparent } from "../../src/telemetry/traceparent.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const VALID = `00-${TRACE}-${SPAN}-01`;

for (
  const [name, text, traceFlags] of [
    ["a sampled one", VALID, 1],
    ["one that is not sampled", `00-${TRACE}-${SPAN}-00`, 0],
    ["flags of later levels", `00-${TRACE}-${SPAN}-ff`, 1],
    ["flags of later levels without the sampled one", `00-${TRACE}-${SPAN}-fe`, 0],
    ["a later version of the same length", `cc-${TRACE}-${SPAN}-01`, 1],
    ["a later version with more behind it", `cc-${TRACE}-${SPAN}-01-what-the-future-brings`, 1],
    ["a later version with a dash behind it", `01-${TRACE}-${SPAN}-00-`, 0],
  ] as const
) {
  Deno.test(`a traceparent is read: ${name}`, () => {
    assertEquals(parseTraceparent(text), { traceId: TRACE, spanId: SPAN, traceFlags });
  });
}

for (
  const [name, text] of [
    ["nothing", ""],
    ["something else", "trace me"],
    ["the trace alone", TRACE],
    ["the version ff", `ff-${TRACE}-${SPAN}-01`],
    ["a version in upper case", `CC-${TRACE}-${SPAN}-01`],
    ["a version of one digit", `0-${TRACE}-${SPAN}-01`],
    ["a version that is no number", `zz-${TRACE}-${SPAN}-01`],
    ["a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["a span of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["a trace in upper case", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ["a span in upper case", `00-${TRACE}-${SPAN.toUpperCase()}-01`],
    ["flags in upper case", `00-${TRACE}-${SPAN}-0A`],
    ["a trace that is too short", `00-${TRACE.slice(1)}-${SPAN}-01`],
    ["a trace that is too long", `00-0${TRACE}-${SPAN}-01`],
    ["a span that is too short", `00-${TRACE}-${SPAN.slice(1)}-01`],
    ["a trace that is no number", `00-${TRACE.slice(1)}g-${SPAN}-01`],
    ["no flags", `00-${TRACE}-${SPAN}`],
    ["flags of one digit", `00-${TRACE}-${SPAN}-1`],
    ["flags of three digits", `00-${TRACE}-${SPAN}-011`],
    ["more behind version 00", `${VALID}-more`],
    ["a dash behind version 00", `${VALID}-`],
    ["more behind a later version without a dash", `cc-${TRACE}-${SPAN}-01.more`],
    ["a later version that is cut off", `cc-${TRACE}-${SPAN}-`],
    ["two of them", `${VALID}, ${VALID}`],
    ["two of a later version", `cc-${TRACE}-${SPAN}-01, cc-${TRACE}-${SPAN}-01`],
    ["blanks around it", ` ${VALID} `],
    ["a line break behind it", `${VALID}\n`],
    ["a line break behind a later version", `cc-${TRACE}-${SPAN}-01\n`],
    ["other separators", VALID.replaceAll("-", "_")],
  ] as const
) {
  Deno.test(`a traceparent means nothing: ${name}`, () => {
    assertEquals(parseTraceparent(text), undefined);
  });
}

function hex(length: number): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(..."0123456789abcdef"), { minLength: length, maxLength: length })
    .map((digits) => digits.join(""));
}

function id(length: number): fc.Arbitrary<string> {
  return hex(length).filter((digits) => /[^0]/.test(digits));
}

Deno.test("what is written is read again as it was", () => {
  const contexts = fc.record({
    traceId: id(32),
    spanId: id(16),
    traceFlags: fc.constantFrom(0, 1),
  });
  fc.assert(fc.property(contexts, (context) => {
    assertEquals(parseTraceparent(formatTraceparent(context)), context);
  }));
});

Deno.test("of any version, what is read is what stands at its place", () => {
  const version = fc.oneof(fc.constantFrom("00", "01", "ff"), hex(2));
  const rest = fc.oneof(fc.constant(""), fc.string(), fc.string().map((text) => `-${text}`));
  const parts = fc.tuple(version, hex(32), hex(16), hex(2), rest);
  fc.assert(fc.property(parts, ([version, traceId, spanId, flags, rest]) => {
    const text = `${version}-${traceId}-${spanId}-${flags}${rest}`;
    const isValid = version !== "ff" && /[^0]/.test(traceId) && /[^0]/.test(spanId) &&
      (rest === "" || (version !== "00" && rest.startsWith("-")));
    const expected = { traceId, spanId, traceFlags: parseInt(flags, 16) % 2 };
    assertEquals(parseTraceparent(text), isValid ? expected : undefined);
  }));
});

Deno.test("of text with one character changed, nothing is read but ids of their form", () => {
  const changes = fc.record({ at: fc.nat(VALID.length - 1), by: fc.string({ maxLength: 3 }) });
  fc.assert(fc.property(changes, ({ at, by }) => {
    const read = parseTraceparent(VALID.slice(0, at) + by + VALID.slice(at + 1));
    if (read === undefined) return;
    assertEquals(/^[0-9a-f]{32}$/.test(read.traceId), true);
    assertEquals(/^[0-9a-f]{16}$/.test(read.spanId), true);
  }));
});
