/**
 * Triggers that another version has stored, with conditions that this one would not take: they launch
 * nothing, their owner is told why, and all other triggers are as they were.
 */
import { assertEquals, assertMatch } from "@std/assert";
import type { StoredTrigger } from "../../../src/store/records/triggers.ts";
import { HMAC_CONDITION, signature, startService } from "../../data.ts";

const FILTER = { type: "payload_filter", expression: "raw.matches('a')" };
const DEDUPLICATION = { type: "deduplication", in: "header", name: "X-Delivery" };

const stored = [
  {
    name: "a filter that cannot be read",
    saved: [HMAC_CONDITION, FILTER],
    condition: { ...FILTER, expression: "raw.matches('(a{40}){40}')" },
    pointer: "/conditions/1/expression",
    reason: /cannot be used: Invalid pattern/,
  },
  {
    name: "a deduplication that does not know where the id is",
    saved: [HMAC_CONDITION, DEDUPLICATION],
    condition: { type: "deduplication", window: 3_600 },
    pointer: "/conditions/1",
    reason: /cannot be used: no preset of the trigger says where a delivery's id is/,
  },
];

for (const { name, saved, condition, pointer, reason } of stored) {
  Deno.test(`of an earlier version: ${name}`, async () => {
    await using service = await startService();
    await service.trigger();
    const { id } = await service.trigger({ conditions: saved });
    const { kv } = service.service.parts.store;
    const { key, value } = await kv.get<StoredTrigger>(["trigger", id]);
    const settings = Object(value?.settings);
    const conditions = [settings.conditions[0], condition];
    await kv.set(key, { ...value, settings: { ...settings, conditions } });

    const listed = await service.api("GET", "triggers/");
    assertEquals(listed.status, 200);
    const [, { url, warnings }] = listed.body.results;
    assertEquals(warnings[0].pointer, pointer);
    assertMatch(warnings[0].detail, /^Refuses every request: /);

    const launch = { method: "POST", headers: signature("a"), body: "a" };
    const answer = await fetch(url, launch);
    assertEquals([answer.status, (await answer.json()).title], [400, "Request rejected"]);
    const { body } = await service.api("GET", `triggers/${id}/log/`);
    assertEquals([body.results[0].condition, body.results[0].condition_index], [condition.type, 1]);
    assertMatch(body.results[0].reason, reason);
    assertEquals((await service.api("GET", `triggers/${id}/runs/`)).body.results, []);

    const mended = await service.api("PATCH", `triggers/${id}/`, { conditions: saved });
    assertEquals(mended.status, 200);
    const headers = { ...launch.headers, "x-delivery": "1" };
    const again = await fetch(url, { ...launch, headers });
    assertEquals([again.status, (await again.json()).status], [200, "accepted"]);
  });
}

Deno.test("of a later version: a preset that this one does not know", async () => {
  await using service = await startService();
  const { id, url } = await service.trigger({ conditions: [HMAC_CONDITION] });
  const { kv } = service.service.parts.store;
  const { key, value } = await kv.get<StoredTrigger>(["trigger", id]);
  const conditions = [{ type: "hmac", preset: "later", secrets: ["x"] }];
  await kv.set(key, { ...value, settings: { ...Object(value?.settings), conditions } });

  const { status, body } = await service.api("GET", "triggers/");
  assertEquals(status, 200);
  const detail = "This version cannot use them: Unknown preset: later";
  assertEquals(body.results[0].warnings, [{ pointer: "/conditions", detail }]);
  const answer = await fetch(url, { method: "POST", headers: signature("a"), body: "a" });
  assertEquals([answer.status, (await answer.json()).title], [500, "Internal Server Error"]);
  assertEquals((await service.api("DELETE", `triggers/${id}/`)).status, 204);
});
