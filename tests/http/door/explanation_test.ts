/** What the operators' API says of a request is what happens when it is sent, whatever is wrong with it. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { HMAC_CONDITION, signature, startService, TestClock } from "../../data.ts";

const TOKEN = { type: "static_token", in: "header", name: "X-Token", secrets: ["let-me-in"] };
const CONDITIONS = [
  { type: "payload_filter", expression: "body.action == 'opened'" },
  { type: "deduplication", in: "header", name: "X-Delivery" },
  { type: "rate_limit", period: 3_600, quota: 2 },
  { type: "rate_limit", period: 60, quota: 1 },
  { type: "timestamp", in: "header", name: "X-Timestamp", format: "unix_s", tolerance: 300 },
  HMAC_CONDITION,
  TOKEN,
  { type: "ip_allowlist", ranges: ["127.0.0.1"] },
  { type: "ip_allowlist", ranges: ["192.0.2.0/24"] },
];

/** A trigger with some of the conditions in any order, and requests with some faults. */
const cases = fc.record({
  enabled: fc.integer({ min: 0, max: 9 }).map((chance) => chance > 0),
  conditions: fc.shuffledSubarray(CONDITIONS, { maxLength: 5 }),
  requests: fc.array(
    fc.record({
      token: fc.constantFrom("let-me-in", "let-me-in", "wrong", undefined),
      time: fc.constantFrom("now", "now", "old", undefined),
      signed: fc.constantFrom("good", "good", "wrong", undefined),
      action: fc.constantFrom("opened", "opened", "closed"),
      delivery: fc.constantFrom("1", "2", undefined),
    }),
    { minLength: 1, maxLength: 4 },
  ),
});

Deno.test("a request is refused by the first condition that an explanation says refuses it", async () => {
  const clock = new TestClock();
  await using service = await startService({ clock });
  await fc.assert(
    fc.asyncProperty(cases, async ({ enabled, conditions, requests }) => {
      const { id, url } = await service.trigger({ enabled, conditions });
      for (const { token, time, signed, action, delivery } of requests) {
        const body = JSON.stringify({ action });
        const headers: Record<string, string> = {
          ...(token && { "x-token": token }),
          ...(time && { "x-timestamp": time === "now" ? String(clock.time_ms / 1_000) : "1" }),
          ...(signed && signature(signed === "good" ? body : "another")),
          ...(delivery && { "x-delivery": delivery }),
        };
        const said = await service.api("POST", `triggers/${id}/test/`, { headers, body });
        const answer = await fetch(url, { method: "POST", headers, body });
        await answer.body?.cancel();
        assertEquals(answer.status, said.body.passed ? 200 : 400);
        if (answer.status === 200) continue;
        const first = said.body.conditions.find(({ passed }: { passed: boolean }) => !passed);
        const { body: log } = await service.api("GET", `triggers/${id}/log/?limit=1`);
        const { condition, condition_index = -1, reason, expected, found } = log.results[0];
        assertEquals(
          { condition, index: condition_index, passed: false, reason, expected, found },
          { expected: undefined, found: undefined, ...first },
        );
      }
    }),
    { numRuns: 60 },
  );
});

Deno.test("an explanation and a diagnosis of a request by another method than POST say that it does not launch", async () => {
  await using service = await startService();
  const { id, url } = await service.trigger({ conditions: [TOKEN] });
  const headers = { "x-token": "let-me-in" };
  const answer = await fetch(url, { method: "PUT", headers, body: "{}" });
  await answer.body?.cancel();
  assertEquals(answer.status, 405);
  const said = await service.api("POST", `triggers/${id}/test/`, { method: "PUT", headers });
  assertEquals(said.body.passed, false);
  const pasted = { method: "PUT", headers, body: "" };
  const { body } = await service.api("POST", `triggers/${id}/diagnose/`, pasted);
  assertEquals(body.findings, [{
    condition: "method",
    index: -1,
    certainty: "likely",
    sentence:
      "Every credential is right. It is refused by method: Only a POST launches: another method is answered " +
      "405, or as a handshake: expected POST, found PUT.",
  }]);
});
