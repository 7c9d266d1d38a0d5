/**
 * Handshakes by method and by trigger: what answers them, what the sender of anything else learns, and what
 * stays in the log.
 */
import { assert, assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import { startService } from "../../data.ts";
import { play, REJECTED, type Scenario } from "../scenario.ts";

const VERIFY = "verify-token-of-the-owner";
const TOKEN = "launch-token-of-the-sender";
const NOT_ALLOWED = '{"title":"Method Not Allowed","status":405}';
const token = { type: "static_token", in: "header", name: "X-Token", secrets: [TOKEN] };
const authorized = { "x-token": TOKEN };

const triggers = {
  none: { conditions: [token] },
  meta: { conditions: [token], handshakes: [{ preset: "meta", secret: VERIFY }] },
  strava: { handshakes: [{ preset: "strava", secret: "{env:VERIFY}" }] },
  unset: { handshakes: [{ preset: "meta", secret: "{env:UNSET}" }] },
  dropbox: {
    conditions: [{ type: "hmac", preset: "dropbox", secrets: [TOKEN] }],
  },
  head: {
    conditions: [token],
    handshakes: [{ method: "HEAD", response: { type: "text", text: "" } }],
  },
  cloudevents: { conditions: [token], handshakes: [{ preset: "cloudevents" }] },
  asana: {
    conditions: [token],
    handshakes: [{
      method: "POST",
      when: "'x-hook-secret' in headers",
      response: {
        type: "text",
        text: "",
        headers: { "X-Hook-Secret": "{headers['x-hook-secret']}" },
      },
    }],
  },
  monday: {
    conditions: [token],
    handshakes: [{
      method: "POST",
      when: "has(body.challenge)",
      response: { type: "json", json: { challenge: "{body.challenge}", n: "{body.n}" } },
    }],
  },
  x: {
    conditions: [{ type: "hmac", algorithm: "sha256", header: "X-Sig", secrets: [TOKEN] }],
    handshakes: [{
      method: "GET",
      secret: TOKEN,
      response: {
        type: "json",
        json: { response_token: "sha256={hmac_sha256_base64(secret, query.crc_token)}" },
      },
    }],
  },
  verified: {
    conditions: [token],
    handshakes: [
      { method: "GET", verified: true, response: { type: "text", text: "for {query.who} alone" } },
      {
        method: "POST",
        when: "query.check == '1'",
        verified: true,
        response: { type: "text", text: "checked" },
      },
    ],
  },
  several: {
    conditions: [token],
    handshakes: ["OPTIONS", "GET", "POST", "HEAD"].map((method) => ({
      method,
      when: "query.check == '1'",
      response: { type: "text", text: "" },
    })),
  },
  mixed: {
    conditions: [token],
    handshakes: [
      { method: "OPTIONS", response: { type: "text", text: "options" } },
      { preset: "meta", secret: VERIFY },
      { method: "HEAD", response: { type: "text", text: "head", status: 202 } },
    ],
  },
  disabled: { enabled: false, handshakes: [{ preset: "meta", secret: VERIFY }] },
  far: {
    conditions: [{ type: "ip_allowlist", ranges: ["192.0.2.1"] }],
    handshakes: [{ preset: "meta", secret: VERIFY }],
  },
} satisfies Record<string, Record<string, unknown>>;

type Case = Omit<Scenario, "name" | "path"> & { to: keyof typeof triggers; query?: string };

const subscribe = (secret: string) =>
  `?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=${secret}`;

/** Of these, each writes `answered` or `refused` into the log, or nothing. */
const cases: (Case & { logged?: "handshake" | "refused" })[] = [
  ...["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].map((method): Case => ({
    to: "none",
    method,
    query: subscribe(VERIFY),
    expectedStatus: 405,
    expectedHeaders: { allow: "POST" },
  })),
  {
    to: "meta",
    method: "GET",
    query: subscribe(VERIFY),
    expectedStatus: 200,
    expectedBody: "1158201444",
    expectedHeaders: {
      "content-type": "text/plain; charset=utf-8",
      "x-content-type-options": "nosniff",
    },
    logged: "handshake",
  },
  { to: "meta", method: "GET", query: subscribe("wrong"), expectedStatus: 400, logged: "refused" },
  { to: "mixed", method: "GET", query: subscribe("wrong"), expectedStatus: 400, logged: "refused" },
  {
    to: "mixed",
    method: "GET",
    query: subscribe(VERIFY),
    expectedStatus: 200,
    expectedBody: "1158201444",
    logged: "handshake",
  },
  {
    to: "mixed",
    method: "OPTIONS",
    expectedStatus: 200,
    expectedBody: "options",
    logged: "handshake",
  },
  { to: "mixed", method: "HEAD", expectedStatus: 202, expectedBody: "", logged: "handshake" },
  { to: "meta", method: "GET", query: subscribe(""), expectedStatus: 400, logged: "refused" },
  { to: "meta", method: "GET", expectedStatus: 400, expectedBody: REJECTED, logged: "refused" },
  {
    to: "meta",
    method: "GET",
    query: `${subscribe(VERIFY)}${"x".repeat(513)}`,
    expectedStatus: 400,
    logged: "refused",
  },
  {
    to: "meta",
    method: "GET",
    query: subscribe(VERIFY).replace("1158201444", "a%0d%0aSet-Cookie:b"),
    expectedStatus: 400,
    logged: "refused",
  },
  ...["HEAD", "OPTIONS", "PUT"].map((method): Case => ({
    to: "meta",
    method,
    query: subscribe(VERIFY),
    expectedStatus: 405,
    expectedBody: method === "HEAD" ? "" : NOT_ALLOWED,
    expectedHeaders: { allow: "GET, POST" },
  })),
  // The methods that do not answer 405, whoever asks.
  ...([
    ["strava", "GET, POST"],
    ["unset", "GET, POST"],
    ["head", "HEAD, POST"],
    ["cloudevents", "OPTIONS, POST"],
    ["asana", "POST"],
    ["verified", "GET, POST"],
    ["several", "GET, HEAD, OPTIONS, POST"],
    ["disabled", "GET, POST"],
    ["far", "GET, POST"],
  ] as const).map(([to, allow]): Case => ({
    to,
    method: "PATCH",
    expectedStatus: 405,
    expectedBody: NOT_ALLOWED,
    expectedHeaders: { allow },
  })),
  { to: "meta", query: subscribe(VERIFY), expectedStatus: 400, logged: "refused" },
  {
    to: "strava",
    method: "GET",
    query: subscribe(VERIFY),
    expectedStatus: 200,
    expectedBody: '{"hub.challenge":"1158201444"}',
    logged: "handshake",
  },
  { to: "unset", method: "GET", query: subscribe(""), expectedStatus: 400, logged: "refused" },
  {
    to: "dropbox",
    method: "GET",
    query: "?challenge=abc123",
    expectedStatus: 200,
    expectedBody: "abc123",
    logged: "handshake",
  },
  { to: "head", method: "HEAD", expectedStatus: 200, expectedBody: "", logged: "handshake" },
  {
    to: "head",
    method: "GET",
    expectedStatus: 405,
    expectedBody: NOT_ALLOWED,
    expectedHeaders: { allow: "HEAD, POST" },
  },
  {
    to: "cloudevents",
    method: "OPTIONS",
    headers: { "webhook-request-origin": "eventemitter.example.com" },
    expectedStatus: 200,
    expectedHeaders: {
      "webhook-allowed-origin": "eventemitter.example.com",
      "webhook-allowed-rate": "*",
    },
    logged: "handshake",
  },
  { to: "cloudevents", method: "OPTIONS", expectedStatus: 400, logged: "refused" },
  {
    to: "asana",
    headers: { "x-hook-secret": "b537207f20cbfa02357cf448134da559" },
    expectedStatus: 200,
    expectedHeaders: { "x-hook-secret": "b537207f20cbfa02357cf448134da559" },
    logged: "handshake",
  },
  { to: "asana", headers: { "x-hook-secret": "Zürich" }, expectedStatus: 400, logged: "refused" },
  { to: "asana", expectedStatus: 400, logged: "refused" },
  {
    to: "monday",
    body: '{"challenge":"abc","n":12}',
    expectedStatus: 200,
    expectedBody: '{"challenge":"abc","n":12}',
    logged: "handshake",
  },
  {
    to: "monday",
    body: '{"challenge":{"a":1},"n":12}',
    expectedStatus: 400,
    logged: "refused",
  },
  {
    to: "monday",
    body: JSON.stringify({ challenge: "abc", n: 1, more: "x".repeat(17_000) }),
    expectedStatus: 400,
    logged: "refused",
  },
  {
    to: "x",
    method: "GET",
    query: "?crc_token=abc",
    expectedStatus: 200,
    expectedBody: JSON.stringify({
      response_token: `sha256=${createHmac("sha256", TOKEN).update("abc").digest("base64")}`,
    }),
    logged: "handshake",
  },
  {
    to: "x",
    method: "GET",
    query: `?crc_token=${encodeURIComponent('{"id":1}')}`,
    expectedStatus: 400,
    logged: "refused",
  },
  {
    to: "verified",
    method: "GET",
    query: "?who=you",
    headers: authorized,
    expectedStatus: 200,
    expectedBody: "for you alone",
    logged: "handshake",
  },
  { to: "verified", method: "GET", query: "?who=you", expectedStatus: 400, logged: "refused" },
  {
    to: "verified",
    method: "GET",
    query: "?who=you",
    headers: { "x-token": "wrong" },
    expectedStatus: 400,
    expectedBody: REJECTED,
    logged: "refused",
  },
  { to: "verified", query: "?check=1", expectedStatus: 400, logged: "refused" },
  {
    to: "verified",
    query: "?check=1",
    headers: authorized,
    expectedStatus: 200,
    expectedBody: "checked",
    logged: "handshake",
  },
  {
    to: "disabled",
    method: "GET",
    query: subscribe(VERIFY),
    expectedStatus: 400,
    logged: "refused",
  },
  { to: "far", method: "GET", query: subscribe(VERIFY), expectedStatus: 400, logged: "refused" },
];

Deno.test("handshakes by method and trigger", async () => {
  await using service = await startService({
    env: { VERIFY },
  });
  const paths = new Map<string, string>();
  const expected = new Map<string, string[]>();
  for (const [name, settings] of Object.entries(triggers)) {
    const { id } = await service.trigger({ name, ...settings });
    paths.set(name, id);
    expected.set(id, []);
  }
  for (const { to, query = "", logged, ...rest } of cases) {
    const id = paths.get(to) ?? "";
    const name = `${rest.method ?? "POST"} ${to} ${query}`;
    await play(service.url, { ...rest, name, path: `/api/v0/launch/${id}/${query}` });
    if (logged) expected.get(id)?.push(logged);
  }
  for (const [id, kinds] of expected) {
    const { body: log } = await service.api("GET", `triggers/${id}/log/`);
    const found = log.results.map(({ kind }: { kind: string }) => kind);
    assertEquals(found.toReversed(), kinds, id);
    const text = JSON.stringify(log);
    for (const secret of [VERIFY, TOKEN]) assert(!text.includes(secret), text);
    const { body: runs } = await service.api("GET", `triggers/${id}/runs/`);
    assertEquals(runs.results, []);
  }
  const { body: deliveries } = await service.api("GET", "deliveries/");
  const posts = cases.filter(({ method, logged }) => !method && logged === "refused");
  assertEquals(deliveries.results.length, posts.length);
});

Deno.test("a body that could be a token which a handshake has signed for anyone launches nothing", async () => {
  await using service = await startService();
  const { id } = await service.trigger(triggers.x);
  const path = `/api/v0/launch/${id}/`;
  const answer = await fetch(`${service.url}${path}?crc_token=123`);
  const [, mac = ""] = /sha256=(.*)/.exec((await answer.json()).response_token) ?? [];
  const hex = Uint8Array.fromBase64(mac).toHex();
  await play(service.url, {
    name: "forged",
    path,
    body: "123",
    headers: { "x-sig": hex },
    expectedStatus: 400,
    expectedBody: REJECTED,
  });
});

const get = { method: "GET", response: { type: "text", text: "ok" } };
const unusable: { handshake: Record<string, unknown>; pointer: string; detail: RegExp }[] = [
  { handshake: { method: "GET" }, pointer: "/response", detail: /^Expected the answer/ },
  { handshake: { response: get.response }, pointer: "/method", detail: /^Expected one of GET/ },
  { handshake: { ...get, when: "query.a == secret" }, pointer: "/secret", detail: /^Expected/ },
  { handshake: { preset: "meta" }, pointer: "/secret", detail: /^Expected the secret/ },
  { handshake: { preset: "slack", method: "GET" }, pointer: "/method", detail: /`preset`/ },
  { handshake: { ...get, when: "unknown == 1" }, pointer: "/when", detail: /line 1, column 1/ },
  { handshake: { ...get, when: "'text'" }, pointer: "/when", detail: /true or false/ },
  {
    handshake: { ...get, secret: "s", when: "secret.startsWith(query.a)" },
    pointer: "/when",
    detail: /^'secret' may only be compared/,
  },
  {
    handshake: { ...get, secret: "s", response: { type: "text", text: "{secret}" } },
    pointer: "/response",
    detail: /^'secret' may only be compared/,
  },
  {
    handshake: { ...get, response: { type: "json", json: { a: ["{query.b"] } } },
    pointer: "/response",
    detail: /^Expected } at the end/,
  },
  {
    handshake: { ...get, when: "body.all(a, body.all(b, a == b))" },
    pointer: "/when",
    detail: /^Takes too long/,
  },
  {
    handshake: {
      ...get,
      response: { ...get.response, headers: { "Set-Cookie": "a=b" } },
    },
    pointer: "/response/headers/Set-Cookie",
    detail: /does not set itself/,
  },
  { handshake: { ...get, verified: true }, pointer: "/verified", detail: /proves the sender/ },
];

Deno.test("a handshake that cannot work is not saved; its secret is shown as a mask and kept", async () => {
  await using service = await startService();
  for (const { handshake, pointer, detail } of unusable) {
    const { status, body } = await service.api("POST", "triggers/", {
      name: "wrong",
      project: "files",
      actions: [{ type: "run_execution", step: "copy" }],
      handshakes: [handshake],
    });
    const [problem] = body.errors ?? [];
    assertEquals(
      [status, problem?.pointer],
      [422, `/handshakes/0${pointer}`],
      JSON.stringify(body),
    );
    assert(detail.test(problem.detail), problem.detail);
  }
  const { id } = await service.trigger(triggers.meta);
  const { body: shown } = await service.api("GET", `triggers/${id}/`);
  assertEquals(shown.handshakes[0].secret.value, "********");
  const changed = await service.api("PUT", `triggers/${id}/`, { ...shown, max_payload: "1MiB" });
  assertEquals(changed.status, 200, JSON.stringify(changed.body));
  const answer = await fetch(`${service.url}/api/v0/launch/${id}/${subscribe(VERIFY)}`);
  assertEquals([answer.status, await answer.text()], [200, "1158201444"]);
});
