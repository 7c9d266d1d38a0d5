import { assertEquals } from "@std/assert";
import { startService } from "../../data.ts";
import { play, REJECTED } from "../scenario.ts";

Deno.test("an IP allow-list looks at the client, through trusted proxies alone", async (t) => {
  await using service = await startService({ settings: { trustedProxies: ["127.0.0.1"] } });
  const trigger = await service.trigger({
    response: { type: "text", text: "{run_id}" },
    conditions: [{ type: "ip_allowlist", ranges: ["203.0.113.0/24", "2001:db8::/32"] }],
  });
  const path = new URL(trigger.url).pathname;
  const from = (forwardedFor: string) => ({
    "x-forwarded-proto": "https",
    "x-forwarded-for": forwardedFor,
  });
  for (
    const [client, expectedStatus] of [
      ["203.0.113.9", 200],
      ["2001:db8:1::5", 200],
      ["::ffff:203.0.113.9", 200],
      ["203.0.114.1", 400],
      ["203.0.113.9, 198.51.100.1", 400],
      ["198.51.100.1, 203.0.113.9", 200],
      ["nonsense", 400],
    ] as const
  ) {
    await t.step(client, async () => {
      await play(service.url, {
        name: client,
        path,
        headers: from(client),
        expectedStatus,
        ...(expectedStatus === 400 ? { expectedBody: REJECTED } : {}),
      });
    });
  }
  await t.step("run info asks for it again", async () => {
    await play(service.url, {
      name: "run info",
      method: "GET",
      path: `${path}run/?run_id=x`,
      headers: from("198.51.100.1"),
      expectedStatus: 400,
      expectedBody: REJECTED,
    });
  });
});

Deno.test("a client that a proxy could not name is in no range, also not in the proxy's own", async () => {
  await using service = await startService({ settings: { trustedProxies: ["127.0.0.1"] } });
  const { url } = await service.trigger({
    conditions: [{ type: "ip_allowlist", ranges: ["127.0.0.0/8", "203.0.113.0/24"] }],
  });
  const path = new URL(url).pathname;
  for (
    const [client, expectedStatus] of [["", 200], ["unix:", 400], [
      "203.0.113.9, _hidden",
      400,
    ]] as const
  ) {
    const headers = { "x-forwarded-proto": "https", "x-forwarded-for": client };
    await play(service.url, { name: client, path, headers, expectedStatus });
  }
});

Deno.test("a range that is none is refused when it is saved", async () => {
  await using service = await startService();
  for (const ranges of [[], ["10.0.0.0/33"], ["example.com"], ["::1/129"], ["10.0.0.0/8/8"]]) {
    const { status } = await service.api("POST", "triggers/", {
      name: "t",
      project: "files",
      actions: [{ type: "run_execution", step: "copy" }],
      conditions: [{ type: "ip_allowlist", ranges }],
    });
    assertEquals(status, 422, JSON.stringify(ranges));
  }
});
