import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  ADMIN_TOKEN,
  endOfRun,
  HMAC_CONDITION,
  signature,
  startService,
  TestClock,
  type TestService,
} from "../../data.ts";
import { importJWK, SignJWT } from "@panva/jose";
import { Issuer, p256 } from "../../conditions/jwt/issuer.ts";
import { storedUnder } from "../../store/fixture.ts";
import { serveRoutes } from "../routes.ts";
import { play, REJECTED, type Scenario } from "../scenario.ts";

const UNKNOWN_ID = "01900000-0000-7000-8000-000000000000";
const RUN_ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/;

Deno.test("launch answers what the trigger's owner configured, with the run's id filled in", async () => {
  await using service = await startService();
  const cases = [
    {
      response: undefined,
      body: /^{"status":"accepted"}$/,
      type: "application/json; charset=utf-8",
    },
    {
      response: { type: "text", text: "Created run {run_id}, yes {run_id}" },
      body: /^Created run ([0-9a-f-]{36}), yes \1$/,
      type: "text/plain; charset=utf-8",
    },
    {
      response: { type: "json", json: { a: [{ b: "<{run_id}>" }], "{run_id}": 1 }, status: 202 },
      body: /^{"a":\[{"b":"<[0-9a-f-]{36}>"}\],"{run_id}":1}$/,
      type: "application/json; charset=utf-8",
      status: 202,
    },
    { response: { type: "json", json: ["{run_id}"] }, body: /^\["[0-9a-f-]{36}"\]$/ },
    { response: { type: "text", text: "" }, body: /^$/ },
  ];
  for (const { response, body, type, status = 200 } of cases) {
    const trigger = await service.trigger(response ? { response } : {});
    const answer = await fetch(trigger.url, { method: "POST", body: "x" });
    assertEquals(answer.status, status);
    assertMatch(await answer.text(), body);
    if (type) assertEquals(answer.headers.get("content-type"), type);
  }
});

Deno.test("launch answers without a body so that the sender knows that it is over", async () => {
  await using service = await startService();
  for (const status of [204, 205]) {
    const { url } = await service.trigger({ response: { type: "text", text: "x", status } });
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: service.service.port });
    const head = `POST ${new URL(url).pathname} HTTP/1.1\r\nHost: localhost\r\n`;
    await connection.write(new TextEncoder().encode(`${head}Content-Length: 1\r\n\r\nx`));
    const buffer = new Uint8Array(4_096);
    const count = await connection.read(buffer);
    const answer = new TextDecoder().decode(buffer.subarray(0, count ?? 0));
    // Of all answers to POST, that of 204 alone needs no length (RFC 9112 section 6.3).
    assertMatch(answer, /^HTTP\/1\.1 204 [^]*\r\n\r\n$/);
  }
});

Deno.test("launch answers with and without the last slash, never by redirect", async () => {
  await using service = await startService();
  const { id } = await service.trigger();
  for (const end of ["", "/"]) {
    await play(service.url, {
      name: `launch${end}`,
      path: `/api/v0/launch/${id}${end}`,
      expectedStatus: 200,
    });
    await play(service.url, {
      name: `run${end}`,
      method: "GET",
      path: `/api/v0/launch/${id}/run${end}?run_id=${UNKNOWN_ID}`,
      expectedStatus: 404,
    });
  }
});

Deno.test("launch keeps the run, its payload and what was said of it", async () => {
  await using service = await startService();
  const trigger = await service.trigger({ response: { type: "text", text: "{run_id}" } });
  const body = new Uint8Array([0, 255, 10, 13, 0, 128]);
  const type = `application/octet-stream; name=${"n".repeat(1_000)}`;
  const runId = await (await fetch(trigger.url, {
    method: "POST",
    headers: { "content-type": type },
    body,
  })).text();
  assertMatch(runId, RUN_ID);
  const run = await endOfRun(service, runId);
  assertEquals(run.status, "completed");
  assertEquals(run.trigger_id, trigger.id);
  assertEquals(run.payload.size, 6);
  assertEquals(run.payload.content_type, type.slice(0, 255));
  assertEquals(run.remote_ip, "127.0.0.1");
  const payload = await fetch(`${service.url}/api/v0/runs/${runId}/payload/`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  assertEquals(await payload.bytes(), body);
});

const CONDITIONS = [
  { type: "static_token", in: "header", name: "X-Token", secrets: ["let-me-in"] },
  HMAC_CONDITION,
  { type: "timestamp", in: "header", name: "X-Timestamp", format: "unix_s", tolerance: 300 },
  { type: "payload_filter", expression: "body.action == 'opened'" },
  { type: "rate_limit", period: 60, quota: 1 },
];

Deno.test("launch refuses every failed condition with one and the same answer, and logs which", async (t) => {
  const clock = new TestClock();
  await using service = await startService({ clock });
  const good = '{"action":"opened"}';
  const now_s = String(clock.time_ms / 1_000);
  const headers = { "x-token": "let-me-in", "x-timestamp": now_s, ...signature(good) };
  const trigger = await service.trigger({ conditions: CONDITIONS });
  const path = new URL(trigger.url).pathname;
  const closed = '{"action":"closed"}';

  const cases: { name: string; headers: Record<string, string>; body: string; logged: string }[] = [
    {
      name: "no token",
      headers: { ...headers, "x-token": "" },
      body: good,
      logged: "static_token",
    },
    {
      name: "wrong token",
      headers: { ...headers, "x-token": "no" },
      body: good,
      logged: "static_token",
    },
    {
      name: "wrong signature",
      headers: { ...headers, ...signature("x") },
      body: good,
      logged: "hmac",
    },
    { name: "changed body", headers, body: `${good} `, logged: "hmac" },
    { name: "stale", headers: { ...headers, "x-timestamp": "1" }, body: good, logged: "timestamp" },
    {
      name: "filtered",
      headers: { ...headers, ...signature(closed) },
      body: closed,
      logged: "payload_filter",
    },
    {
      name: "token, signature, time and filter: the token comes first",
      headers: {},
      body: closed,
      logged: "static_token",
    },
    {
      name: "time and filter: the time comes first",
      headers: { ...headers, ...signature(closed), "x-timestamp": "1" },
      body: closed,
      logged: "timestamp",
    },
  ];
  for (const { name, headers, body, logged } of cases) {
    await t.step(name, async () => {
      await play(service.url, {
        name,
        path,
        headers,
        body,
        expectedStatus: 400,
        expectedBody: REJECTED,
      });
      assertEquals((await lastLogEntry(service, trigger.id)).condition, logged);
    });
  }
  await t.step("none of these has used the quota", async () => {
    await play(service.url, { name: "good", path, headers, body: good, expectedStatus: 200 });
  });
  await t.step("the quota is used up", async () => {
    await play(service.url, {
      name: "again",
      path,
      headers,
      body: good,
      expectedStatus: 400,
      expectedBody: REJECTED,
    });
    assertEquals((await lastLogEntry(service, trigger.id)).condition, "rate_limit");
  });
  await t.step("what was refused has started nothing", async () => {
    const { body } = await service.api("GET", `triggers/${trigger.id}/runs/`);
    assertEquals(body.results.length, 1);
  });
  await t.step("the log shows no credential", async () => {
    const { body } = await service.api("GET", `triggers/${trigger.id}/log/`);
    const text = JSON.stringify(body);
    assert(!text.includes("let-me-in"));
    assert(!text.includes(signature(good)["x-signature"] ?? "?"));
  });
});

Deno.test("of several rate limits the log names the one that was used up", async () => {
  await using service = await startService();
  const limits = [[3_600, 5], [3_600, 2], [60, 9]].map(([period, quota]) => ({
    type: "rate_limit",
    period,
    quota,
  }));
  const { id, url } = await service.trigger({ conditions: limits });
  for (const expectedStatus of [200, 200, 400]) {
    const path = new URL(url).pathname;
    await play(service.url, { name: "launch", path, body: "x", expectedStatus });
  }
  const { condition, condition_index, reason } = await lastLogEntry(service, id);
  assertEquals([condition, condition_index], ["rate_limit", 1]);
  assertEquals(reason, "The quota is used up: 2 launches in 3600 s");
});

Deno.test("launch refuses a disabled trigger, and takes it again once it is enabled", async () => {
  await using service = await startService();
  const trigger = await service.trigger({ enabled: false, conditions: [HMAC_CONDITION] });
  const path = new URL(trigger.url).pathname;
  const request = { name: "disabled", path, body: "x", headers: signature("x") };
  await play(service.url, { ...request, expectedStatus: 400, expectedBody: REJECTED });
  assertEquals((await lastLogEntry(service, trigger.id)).condition, "enabled");
  await play(service.url, { ...request, headers: {}, expectedStatus: 400 });
  assertEquals(
    (await lastLogEntry(service, trigger.id)).condition,
    "enabled",
    "before the signature",
  );
  await service.api("PATCH", `triggers/${trigger.id}/`, { enabled: true });
  await play(service.url, { ...request, expectedStatus: 200 });
});

Deno.test("the door answers in its order, whatever else is wrong", async (t) => {
  await using service = await startService({ settings: { payloadBytesMax: 1_000 } });
  const { id } = await service.trigger();
  const launch = `/api/v0/launch/${id}/`;
  const large = "x".repeat(1_001);
  const cases: Scenario[] = [
    ...["GET", "PUT", "PATCH", "DELETE", "OPTIONS"].map((method): Scenario => ({
      name: `${method} is not a launch`,
      method,
      path: launch,
      expectedStatus: 405,
      expectedHeaders: { allow: "POST", "content-type": "application/problem+json" },
    })),
    {
      name: "HEAD",
      method: "HEAD",
      path: launch,
      expectedStatus: 405,
      expectedHeaders: { allow: "POST" },
    },
    {
      name: "the method is looked at before the trigger",
      method: "PUT",
      path: `/api/v0/launch/${UNKNOWN_ID}/`,
      expectedStatus: 405,
    },
    ...["PUT", "DELETE", "HEAD"].map((method): Scenario => ({
      name: `${method} is not run info`,
      method,
      path: `${launch}run/`,
      expectedStatus: 405,
      expectedHeaders: { allow: "GET, POST" },
    })),
    { name: "unknown trigger", path: `/api/v0/launch/${UNKNOWN_ID}/`, expectedStatus: 404 },
    { name: "no id", path: "/api/v0/launch/nonsense/", expectedStatus: 404 },
    {
      name: "an id in upper case",
      path: launch.toUpperCase().replace("/API/V0/LAUNCH", "/api/v0/launch"),
      expectedStatus: 404,
    },
    { name: "below the launch URL", path: `${launch}else/`, expectedStatus: 404 },
    {
      name: "the trigger is looked at before the body",
      path: `/api/v0/launch/${UNKNOWN_ID}/`,
      body: large,
      expectedStatus: 404,
    },
    { name: "over the limit", path: launch, body: large, expectedStatus: 413 },
    { name: "at the limit", path: launch, body: "x".repeat(1_000), expectedStatus: 200 },
    { name: "empty", path: launch, expectedStatus: 200 },
  ];
  for (const scenario of cases) {
    await t.step(scenario.name, async () => void await play(service.url, scenario));
  }
  await t.step("over the limit, on a disabled trigger", async () => {
    await service.api("PATCH", `triggers/${id}/`, { enabled: false });
    await play(service.url, { name: "413", path: launch, body: large, expectedStatus: 413 });
  });
});

Deno.test("a chunked body is counted while it is read, and not read on over the limit", async () => {
  await using service = await startService({ settings: { payloadBytesMax: 100_000 } });
  const { url } = await service.trigger();
  const atTheLimit = await sendChunked(service.service.port, new URL(url).pathname, 10);
  assertEquals([atTheLimit.status, atTheLimit.chunks], [200, 10]);
  const endless = await sendChunked(service.service.port, new URL(url).pathname, 100_000);
  assertEquals(endless.status, 413);
  assert(endless.chunks < 10_000, `the service took ${endless.chunks} chunks of 10,000 bytes`);
});

Deno.test("a chunked body that comes in one piece with its head is taken, or is too large", async () => {
  await using service = await startService({ settings: { payloadBytesMax: 10 } });
  const { url } = await service.trigger();
  for (const [body, expected] of [["0123456789", 200], ["0123456789x", 413]] as const) {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: service.service.port });
    const head = `POST ${new URL(url).pathname} HTTP/1.1\r\nHost: localhost\r\n`;
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    await connection.write(
      new TextEncoder().encode(`${head}Transfer-Encoding: chunked\r\n\r\n${chunks}`),
    );
    const buffer = new Uint8Array(4_096);
    const count = await connection.read(buffer);
    const answer = new TextDecoder().decode(buffer.subarray(0, count ?? 0));
    assertEquals(Number(answer.slice("HTTP/1.1 ".length).slice(0, 3)), expected);
    // What is not read to its end is the end of its connection, and the sender is told so.
    assertEquals(/\r\nconnection: close\r\n/i.test(answer), expected === 413);
  }
});

/** Sends chunks of 10,000 bytes until they are all sent or an answer has come. */
async function sendChunked(port: number, path: string, chunks_max: number) {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const write = async (text: string) => {
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
  };
  let answer = "";
  const answered = (async () => {
    const buffer = new Uint8Array(4_096);
    const count = await connection.read(buffer);
    answer = new TextDecoder().decode(buffer.subarray(0, count ?? 0));
  })();
  await write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`);
  const chunk = `2710\r\n${"x".repeat(10_000)}\r\n`;
  let chunks = 0;
  try {
    while (chunks < chunks_max && answer === "") {
      await write(chunk);
      chunks++;
    }
    if (answer === "") await write("0\r\n\r\n");
  } catch {
    // The service has hung up, as it should.
  }
  await answered;
  return { status: Number(answer.slice("HTTP/1.1 ".length).slice(0, 3)), chunks };
}

Deno.test("a change through the API takes effect on the next request", async () => {
  await using service = await startService();
  const trigger = await service.trigger({ conditions: [HMAC_CONDITION] });
  const path = new URL(trigger.url).pathname;
  const old = { name: "old secret", path, body: "x", headers: signature("x") };
  const fresh = { name: "new secret", path, body: "x", headers: signature("x", "another-secret") };
  for (let turn = 0; turn < 5; turn++) {
    await play(service.url, { ...old, expectedStatus: 200 });
    await play(service.url, { ...fresh, expectedStatus: 400 });
    await service.api("PATCH", `triggers/${trigger.id}/`, {
      conditions: [{ ...HMAC_CONDITION, secrets: ["another-secret"] }],
    });
    await play(service.url, { ...old, expectedStatus: 400 });
    await play(service.url, { ...fresh, expectedStatus: 200 });
    await service.api("PATCH", `triggers/${trigger.id}/`, { conditions: [HMAC_CONDITION] });
  }
  await service.api("DELETE", `triggers/${trigger.id}/`);
  await play(service.url, { ...old, expectedStatus: 404 });
});

const changes: [change: string, method: string, body: object | undefined, status: number][] = [
  ["is disabled", "PATCH", { enabled: false }, 400],
  ["gets another secret", "PATCH", {
    conditions: [{ ...HMAC_CONDITION, secrets: ["another-secret"] }],
  }, 400],
  ["gets a quota that is used up", "PATCH", {
    conditions: [{ type: "rate_limit", period: 3_600, quota: 1 }],
  }, 400],
  ["is deleted", "DELETE", undefined, 404],
];

for (const [change, method, body, expected] of changes) {
  Deno.test(`a launch whose body arrives while its trigger ${change} is answered ${expected}`, async () => {
    await using service = await startService();
    const trigger = await service.trigger({ conditions: [HMAC_CONDITION] });
    const path = new URL(trigger.url).pathname;
    const { hostname, port } = new URL(service.url);
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const { triggers } = service.service.parts;
    const looked = Promise.withResolvers<void>();
    const prepared = triggers.prepared.bind(triggers);
    triggers.prepared = (id) => {
      looked.resolve();
      return prepared(id);
    };
    const headers = { Host: "localhost", "Content-Length": "6", ...signature("abcdef") };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("");
    await connection.write(new TextEncoder().encode(`POST ${path} HTTP/1.1\r\n${lines}\r\nabc`));
    await looked.promise;
    assert((await service.api(method, `triggers/${trigger.id}/`, body)).status < 300);
    if (change.includes("quota")) {
      await play(service.url, { name: "uses it up", path, body: "x", expectedStatus: 200 });
    }
    await connection.write(new TextEncoder().encode("def"));
    const buffer = new Uint8Array(4_096);
    const count = await connection.read(buffer);
    const answer = new TextDecoder().decode(buffer.subarray(0, count ?? 0));
    assertEquals(answer.slice(0, 12), `HTTP/1.1 ${expected}`);
  });
}

for (const [change, method, body, expected] of changes) {
  Deno.test(`a launch whose payload is being stored while its trigger ${change} is answered ${expected}`, async () => {
    await using service = await startService();
    const trigger = await service.trigger({ conditions: [HMAC_CONDITION] });
    const path = new URL(trigger.url).pathname;
    const { committer } = service.service.parts.store;
    const [began, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const write = committer.write.bind(committer);
    committer.write = async (writes) => {
      if (writes.some(({ key, value }) => key[0] === "upload" && value !== undefined)) {
        began.resolve();
        await goOn.promise;
      }
      return await write(writes);
    };
    const large = "x".repeat(1_000_000);
    const launched = play(service.url, {
      name: change,
      path,
      body: large,
      headers: signature(large),
      expectedStatus: expected,
    });
    await began.promise;
    assert((await service.api(method, `triggers/${trigger.id}/`, body)).status < 300);
    if (change.includes("quota")) {
      await play(service.url, { name: "uses it up", path, body: "x", expectedStatus: 200 });
    }
    goOn.resolve();
    await launched;
    assertEquals(await storedUnder(service.service.parts.store, "payload"), []);
  });
}

Deno.test("a refused body of many megabytes is in the log of its trigger when its sender has the answer", async () => {
  await using service = await startService();
  const trigger = await service.trigger({ conditions: [HMAC_CONDITION] });
  const path = new URL(trigger.url).pathname;
  const readLog = async () =>
    (await service.api("GET", `triggers/${trigger.id}/log/`)).body.results;
  assertEquals(await readLog(), []);
  const body = "x".repeat(15_000_000);
  const headers = signature(body, "another-secret");
  await play(service.url, { name: "refused", path, body, headers, expectedStatus: 400 });
  assertEquals((await readLog()).length, 1);
});

const changesOnCheck: typeof changes = [
  ["is disabled", "PATCH", { enabled: false }, 400],
  ["gets other conditions", "PATCH", { conditions: [HMAC_CONDITION] }, 400],
  ["gets another name", "PATCH", { name: "another" }, 200],
  ["is deleted", "DELETE", undefined, 404],
];

for (const [change, method, body, expected] of changesOnCheck) {
  Deno.test(`a launch that waits for an issuer's keys while its trigger ${change} is answered ${expected}`, async () => {
    const { privateKey, publicKey } = p256();
    await using issuer = new Issuer();
    await using service = await startService();
    const [asked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    issuer.respond = async () => {
      asked.resolve();
      await goOn.promise;
      return Response.json({ keys: [publicKey] });
    };
    const jwt = {
      type: "jwt",
      algorithms: ["ES256"],
      jwks_url: issuer.url,
      private_networks: true,
    };
    const { id, url } = await service.trigger({ conditions: [jwt] });
    const token = await new SignJWT({}).setProtectedHeader({ alg: "ES256" })
      .setExpirationTime("1h").sign(await importJWK(privateKey, "ES256"));
    const authorization = `Bearer ${token}`;
    const answer = fetch(url, { method: "POST", headers: { authorization }, body: "x" });
    await asked.promise;
    assert((await service.api(method, `triggers/${id}/`, body)).status < 300);
    goOn.resolve();
    assertEquals((await answer).status, expected);
    await (await answer).body?.cancel();
  });
}

Deno.test("a secret from an environment variable that is not set refuses everything and says so", async () => {
  await using service = await startService({ env: { EMPTY: "", HERE: "a-token-here" } });
  for (
    const [secret, headers, expectedStatus] of [
      ["{env:MISSING}", { "x-token": "" }, 400],
      ["{env:EMPTY}", { "x-token": "" }, 400],
      ["{env:HERE}", { "x-token": "a-token-here" }, 200],
    ] as const
  ) {
    const trigger = await service.trigger({
      conditions: [{ type: "static_token", in: "header", name: "X-Token", secrets: [secret] }],
    });
    const path = new URL(trigger.url).pathname;
    await play(service.url, { name: secret, path, headers, expectedStatus });
    if (expectedStatus === 400) {
      const name = secret.slice("{env:".length, -1);
      assertMatch((await lastLogEntry(service, trigger.id)).reason, new RegExp(name));
    }
  }
});

Deno.test("the trigger log hides what the trigger's conditions take for a credential, in any header", async () => {
  await using service = await startService();
  const { id } = await service.trigger({
    conditions: [
      { type: "static_token", in: "header", name: "X-Request-ID", secrets: ["a-right-token"] },
      { ...HMAC_CONDITION, header: "User-Agent" },
      { type: "static_token", in: "query", name: "date", secrets: ["another-token"] },
    ],
  });
  await play(service.url, {
    name: "all right but the signature",
    path: `/api/v0/launch/${id}/?date=another-token`,
    headers: {
      "x-request-id": "a-right-token",
      "user-agent": "sha256=00",
      "x-github-event": "push",
      "x-unknown": "it may be a secret",
    },
    expectedStatus: 400,
  });
  const { request } = await lastLogEntry(service, id);
  const { "x-request-id": token, "user-agent": signed, "x-unknown": unknown } = request.headers;
  assertEquals([token, signed, unknown], Array(3).fill("********"));
  assertEquals(request.headers["x-github-event"], "push");
  assert(!JSON.stringify(request).includes("-token"));

  // The same headers are harmless where they are none of the trigger's credentials.
  const other = await service.trigger({ conditions: [HMAC_CONDITION] });
  const headers = { "x-request-id": "17" };
  const path = new URL(other.url).pathname;
  await play(service.url, { name: "unsigned", path, headers, expectedStatus: 400 });
  const entry = await lastLogEntry(service, other.id);
  assertEquals(entry.request.headers["x-request-id"], "17");
});

Deno.test("an entry of the trigger log is short, whatever was sent, and tells which body it was", async () => {
  await using service = await startService();
  // It is refused by what only its body shows.
  const { id } = await service.trigger({
    conditions: [{ type: "static_token", in: "body", name: "token", secrets: ["let-me-in"] }],
  });
  const many = Array.from({ length: 80 }, (_, n) => [`X-${n}-${"n".repeat(120)}`, "x"] as const);
  await play(service.url, {
    name: "many headers",
    path: `/api/v0/launch/${id}/`,
    headers: { ...Object.fromEntries(many), accept: "a".repeat(1_000) },
    body: "hello",
    expectedStatus: 400,
  });
  const { request } = await lastLogEntry(service, id);
  const names = Object.keys(request.headers);
  assertEquals([names.length, Math.max(...names.map(({ length }) => length))], [64, 100]);
  assertEquals(request.headers.accept, "a".repeat(200));
  assertEquals(request.size, 5);
  assertEquals(
    request.sha256,
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
  );
});

Deno.test("a body over the limit is told in the trigger log, without the body that nobody read", async () => {
  await using service = await startService({ settings: { payloadBytesMax: 10 } });
  const { id } = await service.trigger({ enabled: false });
  await play(service.url, {
    name: "413",
    path: `/api/v0/launch/${id}/`,
    headers: { "x-token": "unknown" },
    body: "x".repeat(11),
    expectedStatus: 413,
  });
  const { kind, condition, reason, expected, request } = await lastLogEntry(service, id);
  assertEquals([kind, condition], ["refused", "body_size"]);
  assertEquals([reason, expected], ["The body is too large", "at most 10 bytes"]);
  assertEquals([request.method, request.remote_ip], ["POST", "127.0.0.1"]);
  assertEquals([request.headers["content-length"], request.headers["x-token"]], ["11", "********"]);
  assertEquals([request.size, request.sha256], [undefined, undefined]);
});

Deno.test("a body that comes byte by byte is refused, the trigger log says why, and others are answered", async () => {
  await using service = await startService();
  const { id } = await service.trigger();
  using sender = await Deno.connect({ hostname: "127.0.0.1", port: service.service.port });
  const head =
    `POST /api/v0/launch/${id}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const sent = new Blob([head, "1\r\na\r\n".repeat(200_000), "0\r\n\r\n"]).stream();
  const sending = sent.pipeTo(sender.writable, { preventClose: true });
  const answer = new Uint8Array(1_024);
  await sender.read(answer);
  assertMatch(new TextDecoder().decode(answer), /^HTTP\/1\.1 400 /);
  assertEquals(await (await fetch(`${service.url}/healthz`)).text(), "ok\n");
  const { kind, condition, reason, expected, request } = await lastLogEntry(service, id);
  assertEquals([kind, condition, request.size], ["refused", "body_size", undefined]);
  assertEquals([reason, expected], [
    "The body comes in too many short parts",
    "chunks of 64 bytes or more",
  ]);
  await sending;
});

Deno.test("launch takes a request for as old as it was when it came, however long it waited its turn", async () => {
  const clock = new TestClock();
  await using service = await startService({ clock });
  const timestamp = { type: "timestamp", in: "header", name: "X-Time", format: "unix_ms" };
  const { id } = await service.trigger({ conditions: [{ ...timestamp, tolerance: 1 }] });
  const answers = async (waited_ms: number) => {
    await using routes = serveRoutes(service, { waited_ms });
    const answer = await fetch(`http://127.0.0.1:${routes.port}/api/v0/launch/${id}/`, {
      method: "POST",
      headers: { "x-time": String(clock.now() - 2_000) },
    });
    await answer.body?.cancel();
    return answer.status;
  };
  assertEquals([await answers(0), await answers(1_500)], [400, 200]);
});

async function lastLogEntry(service: TestService, triggerId: string) {
  const { body } = await service.api("GET", `triggers/${triggerId}/log/?limit=1`);
  return body.results[0];
}
