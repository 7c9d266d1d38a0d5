/** Actions that wait for work elsewhere, by a callback or by polls, through restarts. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { endOfRun, eventually, startService, type TestService } from "../data.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

// The tests look into it by the API's contract.
// deno-lint-ignore no-explicit-any
type Sent = any;

const WAITS = { body: { callback: "{callback_url}" }, wait: "callback" };

Deno.test("an action waits for a callback", async (t) => {
  await using receiver = startReceiver();
  await using service = await startService();
  const parts = { receiver, service };
  await t.step("the right token, once", async () => {
    const { run, url } = await callback(parts, { failed: "answer.body.ok != true" });
    const waiting = await state(service, run, "waiting");
    assertEquals([waiting.wait, waiting.answer.status], ["callback", 200]);
    const wrong = url.replace(/[0-9a-f]{64}/, "0".repeat(64));
    assertEquals((await call(wrong)).status, 404);
    assertEquals((await call(url.replace(waiting.id, run))).status, 404);
    assertEquals((await call(`${url}more/`)).status, 404);
    const get = await fetch(url);
    await get.body?.cancel();
    assertEquals([get.status, get.headers.get("allow")], [405, "POST"]);
    assertEquals((await state(service, run, "waiting")).id, waiting.id);
    const taken = await call(url, '{"ok": true}');
    assertEquals([taken.status, taken.body], [200, { status: "accepted" }]);
    const done = await state(service, run, "complete");
    assertEquals(atob(done.result.body), '{"ok": true}');
    assertEquals((await call(url)).status, 410);
    assertEquals(atob((await state(service, run, "complete")).result.body), '{"ok": true}');
  });
  await t.step("a wrong token, before its body has come", async () => {
    const { url } = await callback(parts);
    const { host, pathname } = new URL(url.replace(/[0-9a-f]{64}/, "0".repeat(64)));
    assertMatch(await answerToHead(host, pathname), /^HTTP\/1.1 404 /);
  });
  await t.step("an address within the path is shown without its token", async () => {
    const run = await launch(parts, "/hooks/{callback_url}", { wait: "callback" });
    const shown = await state(service, run, "error");
    assertMatch(shown.url, /\/hooks\/http.*callbacks%2F[0-9a-f-]{36}%2F\*{8}%2F$/);
    const { trigger_id } = await endOfRun(service, run);
    const info = `${service.url}/api/v0/launch/${trigger_id}/run/?run_id=${run}`;
    const { result: [first] } = await (await fetch(info)).json();
    assertEquals(first.url, shown.url);
  });
  await t.step("nor does a redirect that fails show it", async () => {
    const { port } = receiver;
    const moved = (request: Request) =>
      Response.redirect(request.url.replace(/:\d+/, `:${port}`), 307);
    await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, moved);
    const at = { ...parts, receiver: { ...receiver, port: server.addr.port } };
    const run = await launch(at, "/m/{callback_url}", { wait: "callback" });
    const { reason } = await state(service, run, "error");
    assertMatch(reason, /redirects to .*callbacks%2F[0-9a-f-]{36}%2F\*{8}%2F: its host/);
  });
  await t.step("two at once: one is taken", async () => {
    const { run, url } = await callback(parts);
    await state(service, run, "waiting");
    const both = await Promise.all([call(url, "1"), call(url, "2")]);
    assertEquals(both.map(({ status }) => status).sort(), [200, 410]);
    const taken = both.findIndex(({ status }) => status === 200);
    assertEquals(atob((await state(service, run, "complete")).result.body), String(taken + 1));
  });
  await t.step("work that reports its failure", async () => {
    const { run, url } = await callback(parts, { failed: "answer.body.ok != true" });
    assertEquals((await call(url, '{"ok": false}')).status, 200);
    const failed = await state(service, run, "error");
    assertMatch(failed.reason, /The work has failed: answer.body.ok != true/);
  });
  await t.step("too long", async () => {
    const { run, url } = await callback(parts);
    assertEquals((await call(url, "x".repeat(1024 * 1024 + 1))).status, 413);
    assertEquals((await call(url, "x".repeat(1024 * 1024))).status, 200);
    const { result } = await state(service, run, "complete");
    assertEquals([result.size, result.cut], [65_536, true]);
  });
  await t.step("before the answer", async () => {
    const called = Promise.withResolvers<void>();
    const path = nextPath();
    receiver.on(path, async ({ body }) => {
      assertEquals((await call(JSON.parse(body).callback, "early")).status, 200);
      called.resolve();
      return new Response("late");
    });
    const run = await launch(parts, path, WAITS);
    await called.promise;
    const done = await eventually(async () => {
      const sent = await sentOf(service, run);
      return sent.answer && sent;
    });
    assertEquals(
      [done.status, atob(done.answer.body), atob(done.result.body)],
      ["complete", "late", "early"],
    );
  });
  await t.step("through a restart", async () => {
    const { run, url } = await callback(parts);
    const waiting = await state(service, run, "waiting");
    await service.restart();
    const again = await state(service, run, "waiting");
    assertEquals(again.until, waiting.until);
    // The port is another one after the restart of a test.
    const moved = url.replace(/^http:\/\/[^/]+/, service.url);
    assertEquals((await call(moved, "done")).status, 200);
    await state(service, run, "complete");
  });
  await t.step("a stop ends it", async () => {
    const { run, url } = await callback(parts);
    const { id } = await state(service, run, "waiting");
    const { body } = await service.api("POST", `http-requests/${id}/stop/`);
    assertEquals([body.status, body.reason], ["stopped", "Stopped by request"]);
    assertEquals((await call(url)).status, 410);
  });
});

/** A clock that a test sets forward. */
class Ahead implements Clock {
  ahead_ms = 0;
  now = () => Date.now() + this.ahead_ms;
  steady = systemClock.steady;
  after = systemClock.after;
}

Deno.test("a wait has an end, also while nothing runs", async (t) => {
  const clock = new Ahead();
  await using receiver = startReceiver();
  await using service = await startService({ clock });
  const parts = { receiver, service };
  await t.step("of a callback", async () => {
    const { run, url } = await callback(parts, { wait: { callback: { timeout: 600 } } });
    await state(service, run, "waiting");
    clock.ahead_ms += 601_000;
    await service.restart();
    const late = await state(service, run, "error");
    assertEquals(late.reason, "Timeout: no callback came within 600 s");
    assertEquals((await call(url.replace(/^http:\/\/[^/]+/, service.url))).status, 410);
  });
  await t.step("of polls", async () => {
    const path = nextPath();
    receiver.on(path, json({}));
    receiver.on(`${path}/state`, json({ state: "running" }));
    const url = `http://127.0.0.1:${receiver.port}${path}/state`;
    const run = await launch(parts, path, {
      wait: { poll: { url, until: "answer.body.state == 'done'", every: 1, timeout: 600 } },
    });
    await eventually(async () => (await sentOf(service, run))?.result, { what: "a poll" });
    clock.ahead_ms += 601_000;
    const late = await state(service, run, "error");
    assertEquals(late.reason, "Timeout: the work was not done within 600 s");
    assertEquals(JSON.parse(atob(late.result.body)), { state: "running" });
  });
});

interface PollCase {
  name: string;
  /** The answers to the polls; the last one is repeated. */
  polls: (() => Response)[];
  settings?: Record<string, unknown>;
  poll?: Record<string, unknown>;
  status: "complete" | "error";
  reason?: RegExp;
  result?: unknown;
}

const json = (value: unknown, init?: ResponseInit) => () => Response.json(value, init);

const pollCases: PollCase[] = [
  {
    name: "until it is done",
    polls: [json({ state: "queued" }), json({ state: "running" }), json({ state: "done" })],
    status: "complete",
    result: { state: "done" },
  },
  {
    name: "work that failed",
    polls: [json({ state: "running" }), json({ state: "failed", why: "no data" })],
    status: "error",
    reason: /The work has failed: answer.body.state == 'failed'/,
    result: { state: "failed", why: "no data" },
  },
  {
    name: "polls that fail for now",
    polls: [json({}, { status: 503 }), json({}, { status: 429 }), json({ state: "done" })],
    status: "complete",
  },
  {
    name: "a poll that is refused",
    polls: [json({}, { status: 403 })],
    status: "error",
    reason: /A poll has failed: .* status 403/,
  },
  {
    name: "a status that means done",
    polls: [json({ state: "running" }), json({}, { status: 404 })],
    poll: { until: "answer.status == 404" },
    settings: { failed: "false" },
    status: "complete",
  },
  {
    name: "an answer without a state",
    polls: [json({ other: 1 })],
    status: "error",
    reason: /wait\/poll\/until: /,
  },
  {
    name: "no place to ask",
    polls: [json({})],
    poll: { url: "{answer.body.none}" },
    status: "error",
    reason: /wait\/poll\/url: expected a value of \{answer.body.none\}/,
  },
];

Deno.test("an action polls for the end of work", async (t) => {
  const clock = new Ahead();
  await using receiver = startReceiver();
  await using service = await startService({ clock });
  const parts = { receiver, service };
  for (const { name, polls, settings, poll, status, reason, result } of pollCases) {
    await t.step(name, async () => {
      const path = nextPath();
      receiver.on(path, json({ id: "a/b" }, { headers: { location: "/elsewhere" } }));
      const asked = `${path}/a%2Fb`;
      receiver.on(asked, (_, { length }) => {
        const answer = polls[Math.min(length, polls.length) - 1];
        assert(answer);
        return answer();
      });
      const run = await launch(parts, path, {
        headers: { "x-token": { secret: "a-token-of-the-tests" } },
        failed: "answer.body.state == 'failed'",
        wait: {
          poll: {
            url: `http://127.0.0.1:${receiver.port}${path}/{answer.body.id}`,
            until: "answer.body.state in ['done', 'failed']",
            every: 1,
            ...poll,
          },
        },
        ...settings,
      });
      const ended = await state(service, run, status);
      if (reason) assertMatch(ended.reason, reason);
      if (result) assertEquals(JSON.parse(atob(ended.result.body)), result);
      for (const { method, headers, body } of receiver.at(asked)) {
        assertEquals([method, headers.get("x-token"), body], ["GET", "a-token-of-the-tests", ""]);
      }
      assertEquals(ended.attempts, 1);
      assertEquals(receiver.at(path).length, 1);
    });
  }
  await t.step("through a restart", async () => {
    const path = nextPath();
    let isDone = false;
    receiver.on(path, json({}));
    receiver.on(`${path}/state`, () => Response.json({ done: isDone }));
    const run = await launch(parts, path, {
      wait: {
        poll: {
          url: `http://127.0.0.1:${receiver.port}${path}/state`,
          until: "answer.body.done",
          every: 1,
        },
      },
    });
    await receiver.arrived(`${path}/state`, 1);
    await service.restart();
    const before = receiver.at(`${path}/state`).length;
    await receiver.arrived(`${path}/state`, before + 1);
    isDone = true;
    await state(service, run, "complete");
  });
  await t.step("a place that the answer chooses gets no secrets, and is public", async () => {
    await using other = startReceiver();
    other.on("/", json({ done: true }));
    const path = nextPath();
    receiver.on(path, json({ next: `http://127.0.0.1:${other.port}/` }));
    const run = await launch(parts, path, {
      headers: { authorization: { secret: "a-token-of-the-tests" } },
      wait: {
        poll: { url: "{answer.body.next}", until: "answer.body.done", every: 1, timeout: 600 },
      },
    });
    await eventually(async () => (await sentOf(service, run))?.reason, { what: "a poll" });
    clock.ahead_ms += 601_000;
    const { reason } = await state(service, run, "error");
    assertMatch(reason, /no public address/);
    assertEquals(other.at("/").length, 0);
  });
});

Deno.test("what comes back to a request later shows no secret of it, either", async (t) => {
  await using receiver = startReceiver();
  await using service = await startService();
  const parts = { receiver, service };
  const token = "a-token-of-the-tests";
  const key = "a-key (of the tests)";
  const headers = { "x-token": { secret: token } };
  /** Returns the first request at a path as its server may show it. */
  const shown = (path: string) => {
    const [first] = receiver.at(path);
    return JSON.stringify({ headers: [...first?.headers ?? []], body: first?.body });
  };
  const expectMasked = (body: string, hidden: readonly string[]) => {
    const text = atob(body);
    assertMatch(text, /\*{8}/);
    for (const each of hidden) assert(!text.includes(each), text);
    assert(!/[0-9a-f]{64}/.test(text), text);
  };
  await t.step("from a poll", async () => {
    const path = nextPath();
    receiver.on(path, json({}));
    receiver.on(`${path}/state`, () => new Response(shown(path)));
    const run = await launch(parts, path, {
      headers,
      sign: { preset: "azure_devops", secret: key },
      wait: {
        poll: {
          url: `http://127.0.0.1:${receiver.port}${path}/state`,
          until: "answer.status == 200",
          every: 1,
        },
      },
    });
    const { result } = await state(service, run, "complete");
    expectMasked(result.body, [token, key, btoa(`hooklaunch:${key}`)]);
  });
  await t.step("from a callback", async () => {
    const { run, url } = await callback(parts, {
      headers,
      sign: { preset: "gitlab", secret: key },
    });
    await state(service, run, "waiting");
    assertEquals((await call(url, shown(`/path-${paths}`))).status, 200);
    const { result } = await state(service, run, "complete");
    expectMasked(result.body, [token, key]);
  });
});

Deno.test("run info waits for work elsewhere", async () => {
  await using receiver = startReceiver();
  await using service = await startService();
  const { run, url, trigger } = await callback({ receiver, service });
  await state(service, run, "waiting");
  const ask = async (wait: number) => {
    const answer = await fetch(
      `${service.url}/api/v0/launch/${trigger}/run/?run_id=${run}&work=true&wait=${wait}`,
    );
    return await answer.json();
  };
  const result = (outcome: string) => [{
    action: "http_request",
    url: receiver.at("/").length === 0 ? expectedUrl(receiver) : "",
    status: 200,
    outcome,
  }];
  assertEquals(await ask(0), { status: "completed", work: "running", result: result("waiting") });
  const waiting = ask(30);
  await call(url, "done");
  assertEquals(await waiting, {
    status: "completed",
    work: "complete",
    result: result("complete"),
  });
});

/** Sends the head of a POST without its body, and returns the beginning of the answer. */
async function answerToHead(host: string, path: string): Promise<string> {
  const [hostname = "", port] = host.split(":");
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 9\r\n\r\n`;
  await connection.write(new TextEncoder().encode(head));
  const bytes = new Uint8Array(1024);
  const count = await connection.read(bytes) ?? 0;
  return new TextDecoder().decode(bytes.subarray(0, count));
}

let paths = 0;
const nextPath = () => `/path-${++paths}`;
const expectedUrl = ({ port }: Receiver) => `http://127.0.0.1:${port}/path-${paths}`;

interface Parts {
  receiver: Receiver;
  service: TestService;
}

/** Launches a run whose request waits for a callback; returns the address for it. */
async function callback(
  parts: Parts,
  settings: Record<string, unknown> = {},
): Promise<{ run: string; url: string; trigger: string }> {
  const path = nextPath();
  parts.receiver.on(path, () => new Response("begun"));
  const run = await launch(parts, path, { ...WAITS, ...settings });
  const [{ body } = { body: "{}" }] = await parts.receiver.arrived(path, 1);
  const { trigger_id } = await endOfRun(parts.service, run);
  return { run, url: JSON.parse(body).callback, trigger: trigger_id };
}

async function launch(
  { receiver, service }: Parts,
  path: string,
  settings: Record<string, unknown>,
): Promise<string> {
  const { url } = await service.trigger({
    actions: [{
      type: "http_request",
      url: `http://127.0.0.1:${receiver.port}${path}`,
      private_networks: true,
      retry: { first: 0 },
      ...settings,
    }],
    response: { type: "text", text: "{run_id}" },
  });
  return await (await fetch(url, { method: "POST", body: "{}" })).text();
}

async function call(url: string, body = "{}"): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(url, { method: "POST", body });
  return { status: answer.status, body: await answer.json() };
}

/** Reads the request of a run; undefined when there is none so far. */
async function sentOf(service: TestService, run: string): Promise<Sent> {
  return (await service.api("GET", `deliveries/${run}/`)).body.sent?.[0];
}

/** Waits until the request of a run has a status. */
function state(service: TestService, run: string, status: string): Promise<Sent> {
  return eventually(async () => {
    const sent = await sentOf(service, run);
    return sent?.status === status ? sent : undefined;
  }, { what: `a request that is ${status}` });
}
