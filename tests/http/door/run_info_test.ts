import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { ignoreTimeout } from "../../../src/platform/waiting/promises.ts";
import { BodyReader } from "../../../src/http/body.ts";
import {
  endOfRun,
  HMAC_CONDITION,
  signature,
  startService,
  TestClock,
  type TestService,
} from "../../data.ts";
import { standIn } from "../../store/fixture.ts";
import { eventually } from "../../surroundings.ts";
import { ARRIVAL, routesOf } from "../routes.ts";
import { play, REJECTED, type Scenario } from "../scenario.ts";

const UNKNOWN_ID = "01900000-0000-7000-8000-000000000000";
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const JSON_TYPE = { "content-type": "application/json" };

async function launch(url: string, init: RequestInit = {}): Promise<string> {
  const answer = await fetch(url, { method: "POST", ...init });
  assertEquals(answer.status, 200);
  return await answer.text();
}

function runPath(trigger: { id: string }, query = ""): string {
  return `/api/v0/launch/${trigger.id}/run/${query}`;
}

const TEXT_RESPONSE = { response: { type: "text", text: "{run_id}" } };
const TOKEN_CONDITION = {
  type: "static_token",
  in: "header",
  name: "X-Token",
  secrets: ["a-t0ken-of-the-test"],
};

Deno.test("run info tells what the run's actions made, in their order, and nothing of errors", async () => {
  await using service = await startService();
  const echo = { type: "run_execution", step: "echo" };
  const cases = [
    { actions: [echo], status: "completed", made: 1 },
    { actions: [echo, { ...echo, step: "missing" }, echo], status: "complete_with_error", made: 2 },
    { actions: [{ ...echo, step: "missing" }], status: "error", made: 0 },
    { actions: [{ type: "fetch_repository" }, echo], status: "completed", made: 1 },
  ];
  for (const { actions, status, made } of cases) {
    const trigger = await service.trigger({ ...TEXT_RESPONSE, actions });
    const runId = await launch(trigger.url);
    const answer = await fetch(`${trigger.url}run/?run_id=${runId}&wait=10`);
    const text = await answer.text();
    const info = JSON.parse(text);
    assertEquals(Object.keys(info), ["status", "result"]);
    assertEquals(info.status, status, text);
    assertEquals(info.result.length, made);
    for (const element of info.result) {
      assertEquals(Object.keys(element), ["action", "execution_step", "execution_id"]);
      assertEquals([element.action, element.execution_step], ["run_execution", "echo"]);
      const { status } = await service.api("GET", `executions/${element.execution_id}/`);
      assertEquals(status, 200);
    }
    assert(!text.includes("missing"));
  }
});

Deno.test("run info is asked for by GET, by form and by JSON", async (t) => {
  await using service = await startService();
  const other = await service.trigger();
  const trigger = await service.trigger(TEXT_RESPONSE);
  const runId = await launch(trigger.url);
  await endOfRun(service, runId);
  const expectedContent = ['"status":"completed"'];
  const ok = { expectedStatus: 200, expectedContent };
  const cases: Scenario[] = [
    {
      name: "GET, which nobody is to keep",
      method: "GET",
      path: runPath(trigger, `?run_id=${runId}`),
      ...ok,
      expectedHeaders: { "cache-control": "no-store" },
    },
    { name: "form", path: runPath(trigger), headers: FORM, body: `run_id=${runId}`, ...ok },
    {
      name: "JSON",
      path: runPath(trigger),
      headers: JSON_TYPE,
      body: `{"run_id":"${runId}"}`,
      ...ok,
    },
    { name: "POST with a query", path: runPath(trigger, `?run_id=${runId}`), ...ok },
    {
      name: "JSON, and the rest by query",
      path: runPath(trigger, "?wait=31"),
      headers: JSON_TYPE,
      body: `{"run_id":"${runId}"}`,
      expectedStatus: 400,
    },
    {
      name: "JSON, which comes before the query",
      path: runPath(trigger, `?run_id=${UNKNOWN_ID}`),
      headers: JSON_TYPE,
      body: `{"run_id":"${runId}","wait":1}`,
      ...ok,
    },
    {
      name: "JSON below the top level",
      path: runPath(trigger),
      headers: JSON_TYPE,
      body: `{"a":{"run_id":"${runId}"}}`,
      expectedStatus: 400,
    },
    {
      name: "no run_id",
      method: "GET",
      path: runPath(trigger),
      expectedStatus: 400,
      expectedBody: REJECTED,
    },
    {
      name: "unknown run",
      method: "GET",
      path: runPath(trigger, `?run_id=${UNKNOWN_ID}`),
      expectedStatus: 404,
    },
    {
      name: "no id at all",
      method: "GET",
      path: runPath(trigger, "?run_id=../x"),
      expectedStatus: 404,
    },
    {
      name: "unknown trigger",
      method: "GET",
      path: runPath({ id: UNKNOWN_ID }, `?run_id=${runId}`),
      expectedStatus: 404,
    },
    {
      name: "a body over its limit",
      path: runPath(trigger),
      body: "x".repeat(70_000),
      expectedStatus: 413,
    },
    ...["31", "-1", "soon", "1e1"].map((wait): Scenario => ({
      name: `wait=${wait}`,
      method: "GET",
      path: runPath(trigger, `?run_id=${runId}&wait=${wait}`),
      expectedStatus: 400,
    })),
  ];
  for (const scenario of cases) {
    await t.step(scenario.name, async () => void await play(service.url, scenario));
  }
  await t.step("another trigger's run", async () => {
    for (const each of [other, await service.trigger()]) {
      const path = runPath(each, `?run_id=${runId}`);
      await play(service.url, { name: "other", method: "GET", path, expectedStatus: 404 });
    }
  });
});

Deno.test("run info checks authentication and time again, but neither filter nor quota", async () => {
  const clock = new TestClock();
  await using service = await startService({ clock });
  const trigger = await service.trigger({
    ...TEXT_RESPONSE,
    conditions: [
      TOKEN_CONDITION,
      { type: "timestamp", in: "header", name: "X-Timestamp", format: "unix_s", tolerance: 60 },
      { type: "payload_filter", expression: "body.go == true" },
      { type: "rate_limit", period: 3600, quota: 1 },
    ],
  });
  const headers = {
    "x-token": "a-t0ken-of-the-test",
    "x-timestamp": String(clock.time_ms / 1_000),
  };
  const runId = await launch(trigger.url, { headers, body: '{"go":true}' });
  const path = runPath(trigger, `?run_id=${runId}`);
  const ask = { name: "run info", method: "GET", path, headers };
  for (let turn = 0; turn < 3; turn++) await play(service.url, { ...ask, expectedStatus: 200 });
  await play(service.url, {
    ...ask,
    headers: { ...headers, "x-token": "wrong" },
    expectedStatus: 400,
    expectedBody: REJECTED,
  });
  clock.time_ms += 61_000;
  await play(service.url, { ...ask, expectedStatus: 400, expectedBody: REJECTED });
});

Deno.test("the log says what was wrong with a question about a run", async () => {
  await using service = await startService();
  const ask = async (conditions: unknown[], query: string, init: RequestInit = {}) => {
    const { id } = await service.trigger({ conditions });
    const answer = await fetch(service.url + runPath({ id }, query), init);
    assertEquals([answer.status, await answer.text()], [400, REJECTED]);
    const { body } = await service.api("GET", `triggers/${id}/log/`);
    return body.results.map(({ condition, reason, expected, found }: Record<string, string>) =>
      [condition, reason, expected, found].join("; ")
    );
  };
  assertEquals(await ask([], "?runid=x"), [
    "run_info; Run info was asked for without run_id; run_id in a form, JSON or the query; ",
  ]);
  const signed = { method: "POST", body: "x=1", headers: { ...FORM, ...signature("x=1") } };
  assertEquals(await ask([HMAC_CONDITION], `?run_id=${UNKNOWN_ID}`, signed), [
    "run_info; Run info was asked for without run_id; run_id in a form or JSON, which are signed; ",
  ]);
  const type = "multipart/mixed; boundary=x";
  const parts =
    `--x\r\nContent-Disposition: form-data; name="run_id"\r\n\r\n${UNKNOWN_ID}\r\n--x--`;
  const body = { method: "POST", body: parts, headers: { "content-type": type } };
  assertEquals(await ask([], "", body), [
    "run_info; Run info was asked for without run_id: the body is neither JSON nor a form; " +
    `run_id in a form, JSON or the query; ${parts.length} bytes of type ${type}`,
  ]);
  assertEquals(await ask([], `?run_id=${UNKNOWN_ID}&wait=60${"0".repeat(100)}`), [
    `run_info; The field wait is no time to wait; 0 to 30 seconds; 60${"0".repeat(62)}`,
  ]);
});

Deno.test("run info of a trigger with an HMAC condition must be signed, so it is not for GET", async () => {
  await using service = await startService();
  const trigger = await service.trigger({ ...TEXT_RESPONSE, conditions: [HMAC_CONDITION] });
  const runId = await launch(trigger.url, { body: "x", headers: signature("x") });
  const body = `run_id=${runId}`;
  const path = runPath(trigger);
  const signed = { ...FORM, ...signature(body) };
  await play(service.url, { name: "signed", path, headers: signed, body, expectedStatus: 200 });
  await play(service.url, {
    name: "signed for another run",
    path,
    headers: signed,
    body: `run_id=${UNKNOWN_ID}`,
    expectedStatus: 400,
    expectedBody: REJECTED,
  });
  await play(service.url, {
    name: "a signed body that names no run, and a run in the query, which is not signed",
    path: runPath(trigger, `?run_id=${runId}`),
    headers: signature("x"),
    body: "x",
    expectedStatus: 400,
    expectedBody: REJECTED,
  });
  await play(service.url, {
    name: "GET with the signature of an empty body",
    method: "GET",
    path: runPath(trigger, `?run_id=${runId}`),
    headers: signature(""),
    expectedStatus: 400,
    expectedBody: REJECTED,
  });
});

Deno.test("wait holds the answer until the run has ended, or the time is up", async (t) => {
  await using service = await startService();
  const { worker } = service.service.parts;
  await t.step("a run that ends", async () => {
    const trigger = await service.trigger(TEXT_RESPONSE);
    const runId = await launch(trigger.url);
    const answer = await fetch(`${trigger.url}run/?run_id=${runId}&wait=30`);
    assertEquals((await answer.json()).status, "completed");
  });
  await t.step("a run that does not", async () => {
    const { triggerId, runId, url } = await pendingRun(service);
    const began_ms = performance.now();
    const answer = await fetch(`${url}run/?run_id=${runId}&wait=0.2`);
    assertEquals(await answer.json(), { status: "pending", result: [] });
    const took_ms = performance.now() - began_ms;
    // A sender may wait for 30 s at most.
    assert(200 <= took_ms && took_ms < 20_000, `${took_ms} ms`);
    assertEquals(triggerId.length, 36);
    assert(worker.backlog >= 1);
  });
});

Deno.test("who waits for a run's end takes no room from other bodies that are read as values", async () => {
  await using service = await startService();
  const { runId, url } = await pendingRun(service);
  // All of these together hold more values than may be held.
  const body = JSON.stringify({ run_id: runId, wait: 2, list: new Array(32_000).fill(0) });
  const polls = Array.from({ length: 70 }, () => fetch(`${url}run/`, { method: "POST", body }));
  const answers = await Promise.all(polls);
  for (const answer of answers) await answer.body?.cancel();
  assertEquals([...new Set(answers.map(({ status }) => status))], [200]);
});

Deno.test("who waits for the ends of one trigger's runs leaves as many places to others as they take", async () => {
  await using service = await startService();
  const busy = await service.trigger();
  const other = await service.trigger();
  const gate = Promise.withResolvers<boolean>();
  let waiting = 0;
  // Each trigger has a run with its own id, which does not end.
  const worker = standIn(service.service.parts.worker, {
    pendingRun: (id: string) => ({
      id,
      trigger_id: id,
      created_at: new Date().toISOString(),
      status: "pending",
      actions: [],
    }),
    ended: () => {
      waiting++;
      return gate.promise;
    },
  });
  using bodies = new BodyReader();
  const app = routesOf(service, { bodies, worker });
  const ask = async ({ id }: { id: string }, wait_s = 30) => {
    const path = runPath({ id }, `?run_id=${id}&wait=${wait_s}`);
    const answer = await app.fetch(new Request(`http://localhost${path}`), ARRIVAL);
    return [answer.status, answer.headers.get("retry-after")];
  };
  const waits: Promise<unknown>[] = [];
  while (waits.length < 2_048) waits.push(ask(busy));
  await eventually(() => waiting === 2_048 || undefined);
  assertEquals(await deadline(ask(busy), 10_000).catch(ignoreTimeout), [503, "1"]);
  assertEquals(await ask(busy, 0), [200, null], "who does not wait is answered");
  waits.push(ask(other));
  await eventually(() => waiting === 2_049 || undefined, { what: "a wait of another trigger" });
  gate.resolve(true);
  assertEquals(new Set((await Promise.all(waits)).map(String)), new Set(["200,"]));
  assertEquals(await ask(busy), [200, null], "places are given back");
});

Deno.test("who has been answered listens no more for the service's stop", async () => {
  await using service = await startService();
  const { runId, url } = await pendingRun(service);
  let listeners = 0;
  const closing = standIn(new AbortController().signal, {
    addEventListener: () => void listeners++,
    removeEventListener: () => void listeners--,
  });
  using bodies = new BodyReader();
  const app = routesOf(service, { bodies, closing });
  const answer = await app.fetch(new Request(`${url}run/?run_id=${runId}&wait=0.05`), ARRIVAL);
  assertEquals([(await answer.json()).status, listeners], ["pending", 0]);
});

Deno.test("a sender that goes away waits for a run's end no more", async () => {
  await using service = await startService();
  const { runId, url } = await pendingRun(service);
  const { worker } = service.service.parts;
  const { promise: waiting, resolve: begin } = Promise.withResolvers<AbortSignal>();
  const ended = worker.ended.bind(worker);
  worker.ended = (id, signal) => {
    begin(signal);
    return ended(id, signal);
  };
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: service.service.port });
  const target = `${new URL(url).pathname}run/?run_id=${runId}&wait=30`;
  await connection.write(
    new TextEncoder().encode(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`),
  );
  const signal = await waiting;
  connection.close();
  await eventually(() => signal.aborted || undefined, { what: "the end of the wait" });
});

Deno.test("who waits for a run's end is answered when the service stops", async () => {
  await using service = await startService();
  const stop = service.service.close.bind(service.service);
  const { runId, url } = await pendingRun(service);
  const waits = fetch(`${url}run/?run_id=${runId}&wait=30`);
  // Another request of the same sender is answered meanwhile: the first one has arrived.
  await (await fetch(`${url}run/?run_id=${runId}&wait=0.1`)).body?.cancel();
  const stopped = stop(1_000);
  assertEquals(await (await waits).json(), { status: "pending", result: [] });
  await stopped;
});

Deno.test("wait does not hold the answer of a service that is stopping already", async () => {
  await using service = await startService();
  const { runId, url, stop } = await pendingRun(service);
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: service.service.port });
  // While this body is arriving, the service answers.
  const head = `POST ${
    new URL(url).pathname
  } HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n`;
  await connection.write(new TextEncoder().encode(head));
  // The body is asked for once the request is there.
  assertGreater(await connection.read(new Uint8Array(64)) ?? 0, 0);
  void stop(20_000);
  const began_ms = performance.now();
  const answer = await fetch(`${url}run/?run_id=${runId}&wait=30`);
  assertEquals((await answer.json()).status, "pending");
  assertLess(performance.now() - began_ms, 15_000);
});

/** A run that stays pending: its action waits for a repository that never answers. */
async function pendingRun(service: TestService) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) connections.push(connection);
  })();
  const stop = service.service.close.bind(service.service);
  service.service.close = async (deadline_ms) => {
    listener.close();
    // One may just have been accepted.
    await accepting;
    for (const connection of connections) connection.close();
    await stop(deadline_ms);
  };
  await service.api("PUT", "projects/silent/", {
    name: "silent",
    repository: `http://127.0.0.1:${listener.addr.port}/silent.git`,
  });
  const trigger = await service.trigger({ ...TEXT_RESPONSE, project: "silent" });
  const runId = await launch(trigger.url);
  return { triggerId: trigger.id, runId, url: trigger.url, stop };
}

for (
  const [change, method, body, status] of [
    ["is deleted", "DELETE", undefined, 404],
    ["gets another secret", "PATCH", { conditions: [tokenOf("another-token-1234")] }, 400],
    ["gets another name", "PATCH", { name: "another" }, 200],
  ] as const
) {
  Deno.test(`run info that waits for a run's end while its trigger ${change} is answered ${status}`, async () => {
    await using service = await startService();
    const { id, url } = await service.trigger({
      conditions: [tokenOf("a-token-12345678")],
      response: { type: "text", text: "{run_id}" },
    });
    const headers = { "x-token": "a-token-12345678" };
    const runId = await (await fetch(url, { method: "POST", headers })).text();
    const run = await endOfRun(service, runId);
    const { worker } = service.service.parts;
    const [waits, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()];
    worker.pendingRun = () => ({ ...run, status: "pending" });
    worker.ended = () => {
      waits.resolve();
      return ended.promise;
    };
    const answered = fetch(`${url}run/?run_id=${runId}&wait=30`, { headers });
    await waits.promise;
    assertEquals((await service.api(method, `triggers/${id}/`, body)).status < 300, true);
    ended.resolve(true);
    const answer = await answered;
    await answer.body?.cancel();
    assertEquals(answer.status, status);
  });
}

function tokenOf(secret: string) {
  return { type: "static_token", in: "header", name: "X-Token", secrets: [secret] };
}
