/**
 * Trying again: how often, and how long after what a server says.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { TransientError } from "../../../../src/platform/network/fetch_errors.ts";
import { redactedUrl } from "../../../../src/platform/network/urls.ts";
import { withRetries } from "../../../../src/engines/shared/inputs/retries.ts";
import { retryAfter_ms } from "../../../../src/platform/network/retry_after.ts";
import { messageOf } from "./fixture.ts";

const NOW_MS = Date.parse("2026-11-01T10:00:00Z");

const headers: [header: string | undefined, wait_ms: number | undefined][] = [
  [undefined, undefined],
  ["", undefined],
  ["soon", undefined],
  ["-5", undefined],
  ["0", 0],
  ["7", 7_000],
  ["999999999", 999_999_999_000],
  ["Sun, 01 Nov 2026 10:00:09 GMT", 9_000],
  ["Sun, 01 Nov 2026 09:00:00 GMT", 0],
  // The last date of JavaScript: a moment later, now and the pause make no date.
  ["Sat, 13 Sep 275760 00:00:00 GMT", 999_999_999_000],
];

for (const [header, wait_ms] of headers) {
  Deno.test(`transient: Retry-After ${header}`, () => {
    assertEquals(retryAfter_ms(header, NOW_MS), wait_ms);
  });
}

/** Fails so often, in the way that is given. */
async function tried(failures: number, error: () => Error) {
  const waits_ms: number[] = [];
  let tries = 0;
  const controller = new AbortController();
  const work = () => ++tries <= failures ? Promise.reject(error()) : Promise.resolve("done");
  const outcome = withRetries(work, {
    backoff_ms: [1, 2],
    signal: controller.signal,
    onWait: (_error, wait_ms) => {
      waits_ms.push(wait_ms);
      if (wait_ms > 1_000) controller.abort(new Error("enough"));
    },
  });
  const result = await outcome.catch(() => messageOf(outcome));
  return { result, tries, waits_ms };
}

Deno.test("transient: what may pass is tried three times", async () => {
  const error = () => new TransientError("down");
  assertEquals(await tried(0, error), { result: "done", tries: 1, waits_ms: [] });
  assertEquals(await tried(2, error), { result: "done", tries: 3, waits_ms: [1, 2] });
  assertEquals(await tried(3, error), { result: "down", tries: 3, waits_ms: [1, 2] });
});

Deno.test("transient: what will not pass is tried once", async () => {
  const outcome = await tried(1, () => new Error("wrong"));
  assertEquals(outcome, { result: "wrong", tries: 1, waits_ms: [] });
});

Deno.test("transient: a server's wish counts, up to 30 seconds, and less than being stopped", async () => {
  const outcome = await tried(1, () => new TransientError("busy", 3_600_000));
  assertEquals(outcome, { result: "enough", tries: 1, waits_ms: [30_000] });
  const short = await tried(1, () => new TransientError("busy", 5));
  assertEquals(short, { result: "done", tries: 2, waits_ms: [5] });
});

Deno.test("shown: URLs without what may be secret", () => {
  const urls = [
    "https://user:word@host.example:8443/a/b.csv?key=1#x",
    "datum://0199-x/",
    "file:///a/b",
    "s3://key:word@bucket/a?b",
    `http://h/${"x".repeat(300)}`,
  ].map((url) => redactedUrl(new URL(url)));
  assertEquals(urls.slice(0, 4), [
    "host.example:8443/a/b.csv",
    "datum://0199-x/",
    "file:///a/b",
    "s3://bucket/a",
  ]);
  assertEquals(urls[4]?.length, 203);
});
