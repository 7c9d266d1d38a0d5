/** A timestamp passes within the tolerance to both sides, the boundary included, and only in its format. */
import { assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import fc from "fast-check";
import {
  formatTimestamp,
  parseTimestamp,
  TIMESTAMP_FORMATS,
} from "../../src/conditions/freshness.ts";
import { hmac } from "../../src/conditions/hmac.ts";
import { conditionSchema } from "../../src/conditions/mod.ts";
import { timestamp, type TimestampSettings } from "../../src/conditions/timestamp.ts";
import { mutated } from "../arbitraries.ts";
import {
  checkOnce,
  context,
  form,
  json,
  NOW_MS,
  problemsOf,
  request,
  type RequestParts,
} from "./fixture.ts";

const inHeader = { in: "header", name: "X-Time", format: "unix_s" };
const SECRET = "a-token-of-the-tests";
const sent = (value: string): RequestParts => ({ headers: { "x-time": value } });

const cases: {
  name: string;
  settings: Record<string, unknown>;
  parts: RequestParts;
  reason?: string;
  expected?: string;
  found?: string;
}[] = [
  { name: "now", settings: inHeader, parts: sent("1700000000") },
  { name: "300 s ago", settings: inHeader, parts: sent("1699999700") },
  { name: "300 s ahead", settings: inHeader, parts: sent("1700000300") },
  {
    name: "301 s ago",
    settings: inHeader,
    parts: sent("1699999699"),
    reason: "Header X-Time lies 301 s before the time of receipt",
    expected: "at most 300 s before or after",
    found: "1699999699",
  },
  {
    name: "301 s ahead",
    settings: inHeader,
    parts: sent("1700000301"),
    reason: "Header X-Time lies 301 s after the time of receipt",
    expected: "at most 300 s before or after",
    found: "1700000301",
  },
  {
    name: "a millisecond too old",
    settings: inHeader,
    parts: { ...sent("1699999700"), receivedAt_ms: NOW_MS + 1 },
    reason: "Header X-Time lies 300.001 s before the time of receipt",
    expected: "at most 300 s before or after",
    found: "1699999700",
  },
  {
    name: "1 s ago of 1 s",
    settings: { ...inHeader, tolerance: 1 },
    parts: sent("1699999999"),
  },
  {
    name: "2 s ago of 1 s",
    settings: { ...inHeader, tolerance: 1 },
    parts: sent("1699999998"),
    reason: "Header X-Time lies 2 s before the time of receipt",
    expected: "at most 1 s before or after",
    found: "1699999998",
  },
  {
    name: "milliseconds to the boundary",
    settings: { ...inHeader, format: "unix_ms" },
    parts: sent("1699999700000"),
  },
  {
    name: "milliseconds beyond the boundary",
    settings: { ...inHeader, format: "unix_ms" },
    parts: sent("1699999699999"),
    reason: "Header X-Time lies 300.001 s before the time of receipt",
    expected: "at most 300 s before or after",
    found: "1699999699999",
  },
  {
    name: "RFC 3339 to the boundary",
    settings: { ...inHeader, format: "rfc3339" },
    parts: sent("2023-11-15T00:18:20+02:00"),
  },
  {
    name: "RFC 3339 beyond the boundary",
    settings: { ...inHeader, format: "rfc3339" },
    parts: sent("2023-11-15T00:18:20.001+02:00"),
    reason: "Header X-Time lies 300.001 s after the time of receipt",
    expected: "at most 300 s before or after",
    found: "2023-11-15T00:18:20.001+02:00",
  },
  {
    name: "missing",
    settings: inHeader,
    parts: {},
    reason: "Header X-Time is missing",
    expected: "seconds since 1970, such as 1700000000 or 1700000000.5",
  },
  {
    name: "another format",
    settings: inHeader,
    parts: sent("2023-11-14T22:13:20Z"),
    reason: "Header X-Time is not a timestamp",
    expected: "seconds since 1970, such as 1700000000 or 1700000000.5",
    found: "2023-11-14T22:13:20Z",
  },
  {
    name: "an absurd length is not repeated in full",
    settings: inHeader,
    parts: sent("1".repeat(10_000)),
    reason: "Header X-Time is not a timestamp",
    expected: "seconds since 1970, such as 1700000000 or 1700000000.5",
    found: "1".repeat(64),
  },
  {
    name: "in the query",
    settings: { ...inHeader, in: "query", name: "ts" },
    parts: { query: "ts=1700000000" },
  },
  {
    name: "in the query twice",
    settings: { ...inHeader, in: "query", name: "ts" },
    parts: { query: "ts=1700000000&ts=1" },
    reason: "Query parameter ts is ambiguous: it comes more than once",
    expected: "seconds since 1970, such as 1700000000 or 1700000000.5",
    found: "2 values",
  },
  {
    name: "in a form",
    settings: { ...inHeader, in: "body", name: "ts" },
    parts: form("ts=1700000000"),
  },
  {
    name: "a number in JSON",
    settings: { ...inHeader, in: "body", name: "/meta/ts" },
    parts: json({ meta: { ts: 1_700_000_000 } }),
  },
  {
    name: "a string in JSON",
    settings: { ...inHeader, in: "body", name: "ts" },
    parts: json({ ts: "1700000000" }),
  },
  {
    name: "a fraction in JSON",
    settings: { ...inHeader, in: "body", name: "ts" },
    parts: json({ ts: 1_700_000_000.5 }),
  },
];

for (const { name, settings, parts, reason, expected, found } of cases) {
  Deno.test(`timestamp: ${name}`, async () => {
    const refusal = await checkOnce(timestamp, settings, parts);
    assertEquals(refusal?.reason, reason);
    assertEquals(refusal?.expected, expected);
    assertEquals(refusal?.found, found);
  });
}

const readings: { format: TimestampSettings["format"]; text: string; time_ms?: number }[] = [
  { format: "unix_s", text: "0", time_ms: 0 },
  { format: "unix_s", text: "0001700000000".slice(-12), time_ms: 1_700_000_000_000 },
  { format: "unix_s", text: "" },
  { format: "unix_s", text: "-1" },
  { format: "unix_s", text: "+1" },
  { format: "unix_s", text: "1.0", time_ms: 1_000 },
  { format: "unix_s", text: "1795741703.4", time_ms: 1_795_741_703_400 },
  { format: "unix_s", text: "1795741703.123456789", time_ms: 1_795_741_703_123 },
  { format: "unix_s", text: "1795741703." },
  { format: "unix_s", text: ".5" },
  { format: "unix_s", text: "1.0000000001" },
  { format: "unix_s", text: "1.5.5" },
  { format: "unix_ms", text: "1700000000123.9", time_ms: 1_700_000_000_123 },
  { format: "rfc1123", text: "Tue, 14 Nov 2023 22:13:20 GMT", time_ms: 1_700_000_000_000 },
  { format: "rfc1123", text: "Tue, 14 Nov 2023 23:13:20 +0100", time_ms: 1_700_000_000_000 },
  { format: "rfc1123", text: "14 Nov 2023 22:13:20 UTC", time_ms: 1_700_000_000_000 },
  { format: "rfc1123", text: "Thu, 1 Feb 2024 00:00:00 GMT", time_ms: 1_706_745_600_000 },
  { format: "rfc1123", text: "Wed, 14 Nov 2023 22:13:20 GMT" },
  { format: "rfc1123", text: "Tue, 14 Nov 2023 22:13:60 GMT" },
  { format: "rfc1123", text: "Thu, 30 Feb 2023 22:13:20 GMT" },
  { format: "rfc1123", text: "Tue, 14 Foo 2023 22:13:20 GMT" },
  { format: "rfc1123", text: "Tue, 14 Nov 2023 22:13:20 CET" },
  { format: "rfc1123", text: "Tue, 14 Nov 2023 22:13:20" },
  { format: "rfc1123", text: "Tuesday, 14-Nov-23 22:13:20 GMT" },
  { format: "unix_s", text: "1e9" },
  { format: "unix_s", text: "0x10" },
  { format: "unix_s", text: " 1" },
  { format: "unix_s", text: "1\n" },
  { format: "unix_s", text: "١" },
  { format: "unix_s", text: "1700000000000" },
  { format: "unix_ms", text: "1700000000123", time_ms: 1_700_000_000_123 },
  { format: "unix_ms", text: "1700000000000000" },
  { format: "rfc3339", text: "1985-04-12T23:20:50.52Z", time_ms: 482_196_050_520 },
  { format: "rfc3339", text: "1996-12-19T16:39:57-08:00", time_ms: 851_042_397_000 },
  { format: "rfc3339", text: "1937-01-01T12:00:27.87+00:20", time_ms: -1_041_337_172_130 },
  { format: "rfc3339", text: "2023-11-14t22:13:20z", time_ms: 1_700_000_000_000 },
  { format: "rfc3339", text: "2023-11-14T22:13:20.070999999Z", time_ms: 1_700_000_000_070 },
  { format: "rfc3339", text: "2024-02-29T00:00:00Z", time_ms: 1_709_164_800_000 },
  { format: "rfc3339", text: "2023-02-29T00:00:00Z" },
  { format: "rfc3339", text: "2023-02-30T00:00:00Z" },
  { format: "rfc3339", text: "2023-13-01T00:00:00Z" },
  { format: "rfc3339", text: "2023-00-01T00:00:00Z" },
  { format: "rfc3339", text: "1990-12-31T23:59:60Z" },
  { format: "rfc3339", text: "2023-11-14T24:00:00Z" },
  { format: "rfc3339", text: "2023-11-14T22:60:00Z" },
  { format: "rfc3339", text: "2023-11-14T22:13:20" },
  { format: "rfc3339", text: "2023-11-14T22:13:20+02" },
  { format: "rfc3339", text: "2023-11-14T22:13:20+0200" },
  { format: "rfc3339", text: "2023-11-14T22:13:20+24:00" },
  { format: "rfc3339", text: "2023-11-14T22:13:20.Z" },
  { format: "rfc3339", text: "2023-11-14T22:13:20.1234567890Z" },
  { format: "rfc3339", text: "2023-11-14 22:13:20Z" },
  { format: "rfc3339", text: "2023-11-14" },
  { format: "rfc3339", text: "+002023-11-14T22:13:20Z" },
  { format: "rfc3339", text: "2023-11-14T22:13:20Z " },
  { format: "rfc3339", text: "Tue, 14 Nov 2023 22:13:20 GMT" },
];

for (const { format, text, time_ms } of readings) {
  Deno.test(`parseTimestamp: '${text}' is ${time_ms ?? "nothing"} as ${format}`, () => {
    assertEquals(parseTimestamp(text, format), time_ms);
  });
}

Deno.test("parseTimestamp reads what formatTimestamp wrote", () => {
  const time = fc.integer({ min: 0, max: 253_402_300_799_999 });
  const format = fc.constantFrom(...TIMESTAMP_FORMATS);
  fc.assert(fc.property(time, format, (time_ms, format) => {
    const isWhole = format === "unix_s" || format === "rfc1123";
    const expected = isWhole ? Math.floor(time_ms / 1000) * 1000 : time_ms;
    assertEquals(parseTimestamp(formatTimestamp(time_ms, format), format), expected);
  }));
});

Deno.test("a time has no fraction where what is signed behind it could be one", async () => {
  const now_s = NOW_MS / 1_000;
  const passes = async (signed_content: string, text: string) => {
    const settings = {
      algorithm: "sha256",
      header: "X-Sig",
      signed_content,
      timestamp: { in: "header", name: "X-Time", format: "unix_s" },
      secrets: ["s3cret"],
    };
    const content = signed_content.replace("{timestamp}", text).replace("{body}", "5");
    const mac = createHmac("sha256", "s3cret").update(content).digest("hex");
    const parts = { headers: { "X-Time": text, "X-Sig": mac }, body: "5" };
    return await checkOnce(hmac, settings, parts) === undefined;
  };
  for (const content of ["{timestamp}.{body}", "{timestamp}{body}", "{timestamp}:{body}"]) {
    assertEquals(await passes(content, String(now_s)), true, content);
    assertEquals(await passes(content, `${now_s}.5`), content === "{timestamp}:{body}", content);
  }
  const settings = { in: "header", name: "X-Time", format: "unix_s" };
  const sibling = { type: "hmac", algorithm: "sha256", header: "X", secrets: ["s"] };
  for (const signed_content of ["{timestamp}.{body}", "{body}"]) {
    const siblings = [conditionSchema.parse({ ...sibling, signed_content })];
    const check = timestamp.prepare(
      timestamp.schema.parse({ type: "timestamp", ...settings }),
      context({ siblings }),
    );
    const refusal = await check(request({ headers: { "X-Time": `${now_s}.5` } }));
    assertEquals(refusal === undefined, signed_content === "{body}", signed_content);
  }
});

Deno.test("timestamp shows no credential that it takes for a time", async () => {
  const fields = [
    { in: "header", name: "X-Token" },
    { in: "query", name: "token" },
    { in: "body", name: "/token" },
  ] as const;
  const parts = {
    ...json({ token: SECRET }),
    query: `token=${SECRET}`,
    headers: { "x-token": SECRET },
  };
  for (const { in: place, name } of fields) {
    const settings = { in: place, name: name.toLowerCase().replace("/", ""), format: "unix_s" };
    const surroundings = context({ credentials: fields });
    const refusal = await checkOnce(timestamp, settings, parts, surroundings);
    assertEquals(refusal?.found, "not shown", place);
    const other = { ...parts, headers: { ...parts.headers, t: "yesterday" } };
    const own = { in: "header", name: "t", format: "unix_s" };
    const shown = await checkOnce(timestamp, own, other, surroundings);
    assertEquals(shown?.found, "yesterday");
    assertEquals((await checkOnce(timestamp, settings, parts))?.found, SECRET, place);
  }
});

Deno.test("timestamp: settings are bounded", () => {
  assertEquals(problemsOf(timestamp, inHeader), []);
  for (const tolerance of [0, 86_401, 1.5, "300"]) {
    assertEquals(problemsOf(timestamp, { ...inHeader, tolerance }).length, 1, String(tolerance));
  }
  for (const tolerance of [1, 86_400]) {
    assertEquals(problemsOf(timestamp, { ...inHeader, tolerance }), []);
  }
  assertEquals(problemsOf(timestamp, { ...inHeader, format: "iso8601" }).length, 1);
});

Deno.test("parseTimestamp reads the same moment with any offset and any fraction", () => {
  const time = fc.integer({ min: Date.UTC(0, 0, 2), max: Date.UTC(9999, 11, 30) });
  const offset = fc.tuple(fc.constantFrom("+", "-"), fc.nat(23), fc.nat(59));
  const digits = fc.stringMatching(/^[0-9]{0,6}$/);
  fc.assert(fc.property(time, offset, digits, (time_ms, [sign, hours, minutes], digits) => {
    const two = (number: number) => String(number).padStart(2, "0");
    const ahead_ms = (hours * 60 + minutes) * 60_000 * (sign === "+" ? 1 : -1);
    const local = new Date(time_ms + ahead_ms).toISOString().slice(0, -1);
    if (!/^\d{4}-/.test(local)) return;
    const text = `${local}${digits}${sign}${two(hours)}:${two(minutes)}`;
    assertEquals(parseTimestamp(text, "rfc3339"), time_ms, text);
    assertEquals(parseTimestamp(text.toLowerCase(), "rfc3339"), time_ms, text);
  }));
});

/** Returns the milliseconds of a decimal number, cut off. */
function wholeMs(text: string, unit_ms: bigint): number {
  const [whole = "", fraction = ""] = text.split(".");
  return Number(BigInt(whole + fraction.padEnd(9, "0")) * unit_ms / 10n ** 9n);
}

Deno.test("a fraction of a time is cut off below the millisecond", () => {
  const nanos = fc.nat(999_999_999);
  fc.assert(
    fc.property(fc.nat(2 ** 31), nanos, fc.integer({ min: 1, max: 9 }), (s, ns, digits) => {
      const text = `${s}.${String(ns).padStart(9, "0").slice(0, digits)}`;
      assertEquals(parseTimestamp(text, "unix_s"), wholeMs(text, 1_000n), text);
      assertEquals(parseTimestamp(text, "unix_ms"), wholeMs(text, 1n), text);
    }),
    { examples: [[1, 700_900_000, 9], [1, 285_000_000, 3], [1, 1_000_000, 3]] },
  );
});

Deno.test("timestamp: any text is of the format and near enough, or refused", async () => {
  const now = formatTimestamp(NOW_MS, "rfc3339");
  const text = fc.oneof(
    fc.string(),
    mutated(now, "0", "9", "-", ":", ".", "Z", "+01:00", "24", "60"),
    mutated(String(NOW_MS), "0", "9", " ", "e", ".", "-"),
    mutated(String(NOW_MS / 1000), "0", "9", " ", "e", ".", "-", "٣"),
  );
  const format = fc.constantFrom("unix_s" as const, "unix_ms" as const, "rfc3339" as const);
  const tolerance = fc.integer({ min: 1, max: 86_400 });
  await fc.assert(
    fc.asyncProperty(text, format, tolerance, async (text, format, tolerance) => {
      const settings = { in: "body", name: "t", format, tolerance };
      const refusal = await checkOnce(timestamp, settings, json({ t: text }));
      const time_ms = parseTimestamp(text, format);
      const isNear = time_ms !== undefined && Math.abs(NOW_MS - time_ms) <= tolerance * 1000;
      assertEquals(refusal === undefined, isNear);
      if (time_ms === undefined) return;
      // What is read is what the text says, to the millisecond, and nothing that stands in it is passed over.
      if (format === "rfc3339") assertEquals(time_ms, Math.trunc(Date.parse(text.toUpperCase())));
      else assertEquals(time_ms, wholeMs(text, format === "unix_s" ? 1_000n : 1n));
    }),
    { numRuns: 500 },
  );
});
