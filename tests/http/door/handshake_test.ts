import { assertEquals, assertMatch } from "@std/assert";
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { ADMIN_TOKEN, startService } from "../../data.ts";
import { play, REJECTED } from "../scenario.ts";

const SECRET = "slack-signing-secret";

function slack(body: string, secret = SECRET): Record<string, string> {
  const time = String(Math.floor(Date.now() / 1_000));
  const mac = createHmac("sha256", secret).update(`v0:${time}:${body}`).digest("hex");
  return {
    "content-type": "application/json",
    "x-slack-request-timestamp": time,
    "x-slack-signature": `v0=${mac}`,
  };
}

Deno.test("a handshake is answered once it is verified, and is no launch", async () => {
  await using service = await startService();
  const trigger = await service.trigger({
    conditions: [{ type: "hmac", preset: "slack", secrets: [SECRET] }],
  });
  const path = new URL(trigger.url).pathname;
  const body = JSON.stringify({ type: "url_verification", challenge: "abc123", token: "x" });
  const answer = await play(service.url, {
    name: "verified",
    path,
    headers: slack(body),
    body,
    expectedStatus: 200,
    expectedContent: ["abc123"],
    expectedHeaders: { "x-content-type-options": "nosniff" },
  });
  assertMatch(answer.headers.get("content-type") ?? "", /^(text\/plain|application\/json)/);
  await play(service.url, {
    name: "forged",
    path,
    headers: slack(body, "another"),
    body,
    expectedStatus: 400,
    expectedBody: REJECTED,
  });
  const { body: runs } = await service.api("GET", `triggers/${trigger.id}/runs/`);
  assertEquals(runs.results, []);
});

Deno.test("a trigger without the preset takes the same body as a launch", async () => {
  await using service = await startService();
  const trigger = await service.trigger();
  const body = JSON.stringify({ type: "url_verification", challenge: "abc123" });
  const path = `${new URL(trigger.url).pathname}?validationToken=abc`;
  await play(service.url, {
    name: "no preset",
    path,
    body,
    expectedStatus: 200,
    expectedBody: '{"status":"accepted"}',
  });
});

Deno.test("a PING of Discord's webhook events is answered with 204, and an event launches", async () => {
  await using service = await startService();
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const key = publicKey.export({ format: "pem", type: "spki" });
  const trigger = await service.trigger({
    conditions: [{ type: "signature", preset: "discord_events", public_keys: [key] }],
    response: { type: "text", text: "", status: 204 },
  });
  const knock = async (name: string, value: unknown, signedValue = value) => {
    const time = String(Math.floor(Date.now() / 1_000));
    const content = new TextEncoder().encode(time + JSON.stringify(signedValue));
    return await play(service.url, {
      name,
      path: new URL(trigger.url).pathname,
      headers: {
        "content-type": "application/json",
        "x-signature-timestamp": time,
        "x-signature-ed25519": sign(null, content, privateKey).toString("hex"),
      },
      body: JSON.stringify(value),
      expectedStatus: value === signedValue ? 204 : 400,
      expectedBody: value === signedValue ? "" : REJECTED,
    });
  };
  const countRuns = async () => {
    const { body: runs } = await service.api("GET", `triggers/${trigger.id}/runs/`);
    return runs.results.length;
  };
  const ping = { version: 1, application_id: "1", type: 0 };
  const answer = await knock("PING", ping);
  assertEquals(answer.headers.get("content-type"), "application/json");
  await knock("forged PING", ping, {});
  assertEquals(await countRuns(), 0);
  await knock("event", { ...ping, type: 1, event: { type: "ENTITLEMENT_CREATE" } });
  assertEquals(await countRuns(), 1);
});

Deno.test("a handshake that proves nothing is answered to the addresses that are allowed, and to no others", async () => {
  await using service = await startService();
  const ask = async (settings: Record<string, unknown>) => {
    const conditions = [
      { type: "static_token", preset: "microsoft_graph", secrets: ["a-s3cret"] },
      { type: "ip_allowlist", ranges: ["127.0.0.1"], ...settings },
    ];
    const trigger = await service.trigger({ conditions });
    const answer = await fetch(`${trigger.url}?validationToken=a%20b`, { method: "POST" });
    const { body: runs } = await service.api("GET", `triggers/${trigger.id}/runs/`);
    return [answer.status, await answer.text(), runs.results];
  };
  assertEquals(await ask({}), [200, "a b", []]);
  assertEquals(await ask({ ranges: ["192.0.2.1"] }), [400, REJECTED, []]);
});

Deno.test("Notion's verification launches nothing, and only admins find its token in the trigger log", async () => {
  await using service = await startService();
  const { id, url } = await service.trigger({
    conditions: [{ type: "hmac", preset: "notion", secrets: ["not known yet"] }],
  });
  const token = "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl";
  const send = async (body: string, headers = {}) => {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
    return [answer.status, await answer.text()];
  };
  assertEquals(await send(JSON.stringify({ verification_token: token })), [200, ""]);
  // An event is no verification, and one line alone is told.
  const event = JSON.stringify({ id: "1", type: "page.created", verification_token: token });
  assertEquals(await send(event), [400, REJECTED]);
  assertEquals((await send(JSON.stringify({ verification_token: "a\nb" })))[0], 400);
  const runs = await service.api("GET", `triggers/${id}/runs/`);
  assertEquals(runs.body.results, []);

  const { body: made } = await service.api("POST", "tokens/", { name: "reader", scope: "read" });
  const told = async (operator: string) => {
    const answer = await fetch(`${service.url}/api/v0/triggers/${id}/log/`, {
      headers: { authorization: `Bearer ${operator}` },
    });
    const { results } = await answer.json();
    return results.map((entry: { kind: string; told?: string }) => [entry.kind, entry.told]);
  };
  const refused = ["refused", undefined];
  assertEquals(await told(ADMIN_TOKEN), [refused, refused, ["handshake", token]]);
  assertEquals(await told(made.token), [refused, refused, ["handshake", undefined]]);

  const { body: trigger } = await service.api("GET", `triggers/${id}/`);
  const [condition] = trigger.conditions;
  const changed = await service.api("PATCH", `triggers/${id}/`, {
    conditions: [{ ...condition, secrets: [token] }],
  });
  assertEquals(changed.status, 200);
  const mac = createHmac("sha256", token).update(event).digest("hex");
  const [status] = await send(event, { "x-notion-signature": `sha256=${mac}` });
  assertEquals(status, 200);
});
