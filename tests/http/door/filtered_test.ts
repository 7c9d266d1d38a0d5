/** A sender that disables endpoints for errors is told success of what its receiver's filter leaves out. */
import { assertEquals } from "@std/assert";
import { HMAC_CONDITION, signature, startService } from "../../data.ts";
import { play, REJECTED, type Scenario } from "../scenario.ts";

const FILTER = { type: "payload_filter", expression: "body.action == 'opened'" };
const LIST = { type: "payload_filter", all: [{ path: "body.n", op: "gt", value: 1 }] };
const IGNORED = '{"status":"ignored"}';
const OTHER = '{"action":"closed"}';
/** Too large to be looked at at once, and no match either. */
const LARGE = `{"action":"closed","list":[${new Array(50_000).fill(1)}]}`;

Deno.test("what a payload filter refuses is answered as the trigger says, and nothing else is", async (t) => {
  await using service = await startService();
  const conditions = [HMAC_CONDITION, FILTER, LIST, { type: "rate_limit", period: 60, quota: 1 }];
  const filtered = { status: 200 };
  const trigger = await service.trigger({ conditions, filtered });
  const path = new URL(trigger.url).pathname;
  const signed = (body: string) => ({ path, body, headers: signature(body) });
  const accepted = '{"action":"opened","n":2}';
  const scenarios: Scenario[] = [
    { name: "filtered", ...signed(OTHER), expectedStatus: 200, expectedBody: IGNORED },
    {
      name: "filtered by the second filter",
      ...signed('{"action":"opened","n":1}'),
      expectedStatus: 200,
      expectedBody: IGNORED,
      expectedHeaders: { "content-type": "application/json; charset=utf-8" },
    },
    {
      name: "filtered by the Worker",
      ...signed(LARGE),
      expectedStatus: 200,
      expectedBody: IGNORED,
    },
    { name: "no JSON", ...signed("none"), expectedStatus: 200, expectedBody: IGNORED },
    {
      name: "unsigned",
      path,
      body: OTHER,
      expectedStatus: 400,
      expectedBody: REJECTED,
    },
    {
      name: "signed wrongly",
      path,
      body: OTHER,
      headers: signature("another"),
      expectedStatus: 400,
      expectedBody: REJECTED,
    },
    {
      name: "accepted",
      ...signed(accepted),
      expectedStatus: 200,
      expectedBody: '{"status":"accepted"}',
    },
    { name: "over its quota", ...signed(accepted), expectedStatus: 400, expectedBody: REJECTED },
  ];
  for (const scenario of scenarios) {
    await t.step(scenario.name, async () => void await play(service.url, scenario));
  }
  await t.step("one run, and a reason for each of the others", async () => {
    const { body: runs } = await service.api("GET", `triggers/${trigger.id}/runs/`);
    assertEquals(runs.results.length, 1);
    const { body: log } = await service.api("GET", `triggers/${trigger.id}/log/`);
    const refusers = log.results.map(({ condition }: { condition: string }) => condition);
    assertEquals(refusers.sort(), [
      "hmac",
      "hmac",
      "payload_filter",
      "payload_filter",
      "payload_filter",
      "payload_filter",
      "rate_limit",
    ]);
  });
  for (const [status, sent] of [[202, 202], [204, 204], [205, 204], [299, 299]] as const) {
    await t.step(`the status ${status}`, async () => {
      await service.api("PATCH", `triggers/${trigger.id}/`, { filtered: { status } });
      await play(service.url, {
        name: "filtered",
        ...signed(OTHER),
        expectedStatus: sent,
        expectedBody: sent === 204 ? "" : IGNORED,
      });
    });
  }
  await t.step("a disabled trigger", async () => {
    await service.api("PATCH", `triggers/${trigger.id}/`, { enabled: false });
    await play(service.url, {
      name: "disabled",
      ...signed(OTHER),
      expectedStatus: 400,
      expectedBody: REJECTED,
    });
  });
  await t.step("without the setting", async () => {
    const { id, url } = await service.trigger({ conditions });
    await play(service.url, {
      name: "filtered",
      ...signed(OTHER),
      path: new URL(url).pathname,
      expectedStatus: 400,
      expectedBody: REJECTED,
    });
    assertEquals((await service.api("GET", `triggers/${id}/`)).body.filtered, undefined);
  });
});

Deno.test("filtered is refused when it is saved without a proof of the sender, or is no status of success", async (t) => {
  await using service = await startService();
  const { id } = await service.trigger({ conditions: [FILTER] });
  const cases = [
    { conditions: [FILTER], filtered: { status: 200 }, pointer: "/filtered" },
    {
      conditions: [{ type: "ip_allowlist", ranges: ["192.0.2.0/24"] }, FILTER],
      filtered: { status: 200 },
      pointer: "/filtered",
    },
    { conditions: [HMAC_CONDITION], filtered: { status: 400 }, pointer: "/filtered/status" },
    { conditions: [HMAC_CONDITION], filtered: { status: 199 }, pointer: "/filtered/status" },
    { conditions: [HMAC_CONDITION], filtered: {}, pointer: "/filtered/status" },
    { conditions: [HMAC_CONDITION], filtered: { status: 200, body: "x" }, pointer: "/filtered" },
  ];
  for (const { pointer, ...settings } of cases) {
    await t.step(JSON.stringify(settings.filtered), async () => {
      const { status, body } = await service.api("PATCH", `triggers/${id}/`, settings);
      assertEquals([status, body.errors?.[0].pointer.startsWith(pointer)], [422, true]);
    });
  }
  await t.step("and kept where all is well", async () => {
    const settings = { conditions: [HMAC_CONDITION, FILTER], filtered: { status: 202 } };
    const { status, body } = await service.api("PATCH", `triggers/${id}/`, settings);
    assertEquals([status, body.filtered], [200, { status: 202 }]);
  });
});
