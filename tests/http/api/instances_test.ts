/**
 * Two instances on one database: every read of operators, at the one that leads and at the one that follows. The answers
 * are the same, and only what is declared so is asked of the leader.
 */
import { assert, assertEquals } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { operations } from "../../../src/http/api/mod.ts";
import { isOfLeader } from "../../../src/http/api/operation.ts";
import { ROUTES } from "../../../src/http/console/mod.ts";
import { getRun, removeRunWrites, runInMemory } from "../../../src/store/records/runs.ts";
import {
  ADMIN_TOKEN,
  endOfExecution,
  endOfRun,
  eventually,
  startService,
  type TestService,
} from "../../data.ts";
import { has } from "../../needs.ts";
import { denokv } from "../../store/denokv.ts";
import { KV_TOKEN, RemoteKv } from "../../store/kv_connect.ts";
import { temporaryFolder } from "../../surroundings.ts";
import { Browser } from "../console/fixture.ts";
import { storePipeline } from "./fixture.ts";

/** The reads that need the memory or the files of the leader. */
const AT_LEADER = [
  "getNotifier",
  "getProjectContents",
  "getService",
  "listAttention",
  "listBackups",
  "listFailures",
  "listNotifiers",
];
/** The reads of files of the machine that has run a step. */
const AT_MACHINE = ["getExecutionLog", "getExecutionOutput"];
/** Changes of their answers by themselves. */
const TIMES = ["seconds_silent", "clock_ahead_ms", "last_used_at", "more_at"];
const PAGES_AT_LEADER =
  /^\/(?:$|access$|attention|engines|notifications|projects|replays\/new|settings|triggers)/;
const HOP = "x-hooklaunch-hop";

Deno.test("operators are answered by every instance", async (t) => {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const kv = has("denokv")
    ? stack.use(await denokv(folder.path)).url
    : stack.use(new RemoteKv()).way().url;
  Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
  const settings = { kv, secretKey: "00".repeat(32) };
  const leader = stack.use(await startService({ settings }));
  const follower = stack.use(await startService({ settings }));
  const hops = stack.use(countHops());
  await eventually(() => follower.service.parts.store.shared?.instances.obstacle === undefined, {
    what: "the follower serving",
  });

  const trigger = await leader.trigger({
    name: "told",
    conditions: [{ type: "rate_limit", period: 3_600, quota: 50 }],
    response: { type: "text", text: "{run_id}" },
  });
  const other = await leader.trigger({ name: "untold" });
  // The follower has prepared it, and keeps it.
  const run = await launch(follower, trigger.id);
  const { actions: [{ created: { execution_id: execution } }] } = await endOfRun(leader, run);
  await endOfExecution(leader, execution);
  const { store } = leader.service.parts;
  const pipeline = await storePipeline(store, {
    run_id: run,
    trigger_id: trigger.id,
    project: "files",
  });
  const to = { type: "webhook", url: "https://example.com/told" };
  const notifier = { on: ["run_error"], to };
  assertEquals((await follower.api("PUT", "notifiers/ops/", notifier)).status, 201);
  const ids: Record<string, string> = {
    triggers: trigger.id,
    runs: run,
    deliveries: run,
    executions: execution,
    pipelines: pipeline.id,
    projects: "files",
    notifiers: "ops",
  };
  const limited = { name: "limited", scope: "read", triggers: [trigger.id] };
  const foreign = { name: "foreign", scope: "read", triggers: [other.id] };
  const tokens: Record<string, string> = { admin: ADMIN_TOKEN, none: "" };
  for (const body of [{ name: "reader", scope: "read" }, limited, foreign]) {
    const made = await follower.api("POST", "tokens/", body);
    assertEquals(made.status, 201);
    tokens[body.name] = made.body.token;
  }
  // Counts are stored some seconds later.
  await eventually(async () => {
    const activity = `triggers/${trigger.id}/activity/`;
    const [there, here] = await Promise.all(
      [leader, follower].map((each) => each.api("GET", activity)),
    );
    return JSON.stringify(there?.body) === JSON.stringify(here?.body);
  }, { what: "the count of the launch at both" });
  const { results: [delivery] } = (await leader.api("GET", "deliveries/")).body;
  assertEquals(delivery.id, run);

  const reads = operations.filter(({ method }) => method === "get");
  await t.step("what needs the leader is known", () => {
    const found = reads.filter(isOfLeader).map(({ id }) => id);
    assertEquals(found.toSorted(), AT_LEADER);
  });

  for (const { id, path, query } of reads) {
    const address = addressOf(path, ids);
    for (const [name, token] of Object.entries(tokens)) {
      await t.step(`${id}: ${name}`, async () => {
        const there = await ask(leader, address, token);
        const before = hops.count;
        const here = await ask(follower, address, token);
        assertEquals(here, there);
        const isAsked = here.status !== 401 && here.status !== 403 &&
          ((AT_LEADER.includes(id)) || AT_MACHINE.includes(id));
        if (!isAsked && !AT_LEADER.includes(id) && !AT_MACHINE.includes(id)) {
          assertEquals(hops.count, before, "it was forwarded");
        }
        if (AT_LEADER.includes(id) && here.status < 400) assertEquals(hops.count, before + 1);
      });
    }
    if (!("limit" in (query?.shape ?? {})) || AT_LEADER.includes(id)) continue;
    await t.step(`${id}: pages that other instances go on with`, async () => {
      for (const token of [ADMIN_TOKEN, tokens.limited ?? ""]) {
        const first = await ask(follower, `${address}?limit=1`, token);
        const { next } = JSON.parse(first.text);
        if (!next) continue;
        const cursor = new URL(next.replace("HERE", "127.0.0.1")).search;
        const texts = [leader, follower].map((service) => ask(service, address + cursor, token));
        const [there, here] = await Promise.all(texts);
        assertEquals(here?.status, 200, here?.text);
        assertEquals(withoutNext(here?.text), withoutNext(there?.text));
      }
    });
  }

  await t.step("trials of stored requests and filters are answered here", async () => {
    const before = hops.count;
    const filter = { type: "payload_filter", expression: "true" };
    const requests = [{ headers: { "content-type": "application/json" }, body: "{}" }];
    const trials: [path: string, body: unknown][] = [
      [`triggers/${trigger.id}/diagnose/`, { delivery_id: run }],
      [`triggers/${trigger.id}/infer-schema/`, {}],
      [`triggers/${trigger.id}/try-filter/`, { filter }],
      ["try-filter/", { filter, requests }],
    ];
    for (const [path, body] of trials) {
      const [there, here] = [leader, follower].map((each) => each.api("POST", path, body));
      assertEquals((await here)?.status, 200, path);
      assertEquals((await here)?.body, (await there)?.body);
    }
    assertEquals(hops.count, before);
  });

  await t.step("what was changed at one is so at the other with the next request", async () => {
    for (let n = 0; n < 5; n++) {
      const change = {
        name: `told-${n}`,
        conditions: [{ type: "rate_limit", period: 3_600, quota: 60 + n }],
      };
      assertEquals((await leader.api("PATCH", `triggers/${trigger.id}/`, change)).status, 200);
      const [{ trigger: name }] = (await follower.api("GET", "deliveries/")).body.results;
      assertEquals(name, change.name);
      const { body } = await follower.api("GET", `triggers/${trigger.id}/quotas/`);
      assertEquals(body.quotas[0].quota, 60 + n);
      assertEquals((await follower.api("GET", `runs/${run}/`)).body.trigger, change.name);
    }
    const back = await follower.api("PATCH", `triggers/${trigger.id}/`, { name: "told" });
    assertEquals(back.status, 200);
    assertEquals((await leader.api("GET", "deliveries/")).body.results[0].trigger, "told");
  });

  await t.step("a run that the leader has removed is gone at both", async () => {
    const gone = await launch(follower, other.id);
    await endOfRun(follower, gone);
    assertEquals((await follower.api("GET", `runs/${gone}/`)).status, 200);
    // The follower has it in memory for senders, who poll.
    assert(runInMemory(follower.service.parts.store, gone));
    const ended = await getRun(store, gone);
    assert(ended);
    await store.committer.write(removeRunWrites(ended));
    for (const service of [leader, follower]) {
      assertEquals((await service.api("GET", `runs/${gone}/`)).status, 404);
    }
  });

  await t.step("a token that was revoked at one opens nothing at the other", async () => {
    const { body } = await leader.api("POST", "tokens/", { name: "brief", scope: "read" });
    assertEquals((await ask(follower, "triggers/", body.token)).status, 200);
    assertEquals((await leader.api("DELETE", `tokens/${body.id}/`)).status, 204);
    assertEquals((await ask(follower, "triggers/", body.token)).status, 401);
  });

  await t.step("an agent reads here, and changes at the leader", async () => {
    const call = async (service: TestService, name: string, args: object) => {
      const headers = {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
      };
      const params = { name, arguments: args };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
      const answer = await fetch(`${service.url}/mcp`, { method: "POST", headers, body });
      const { result } = await answer.json();
      return result.content[0].text.replaceAll(/[0-9a-f]{32}/g, "MARK")
        .replaceAll(/127\.0\.0\.1:\d+/g, "HERE");
    };
    const before = hops.count;
    assertEquals(await call(follower, "runs", {}), await call(leader, "runs", {}));
    assertEquals(hops.count, before);
    assert((await call(follower, "attention", {})).includes("results"));
    assertEquals(hops.count, before + 1);
  });

  const browsers = [leader, follower].map(({ url }) => new Browser(url));
  const [atLeader, atFollower] = browsers;
  assert(atLeader && atFollower);
  await atLeader.logIn();
  for (const [name, value] of atLeader.cookies) {
    // Over plain HTTP each port has a cookie of its own.
    atFollower.cookies.set(name.replace(/\d+$/, new URL(follower.url).port), value);
    // What is forwarded came over HTTPS, as far as the other one can see.
    atFollower.cookies.set("__Host-hooklaunch_session", value);
  }
  for (const { path, show } of ROUTES) {
    if (!show) continue;
    await t.step(`the page ${path}`, async () => {
      const address = pageAddress(path, ids);
      const isAlone = !PAGES_AT_LEADER.test(path) && !path.startsWith("/executions/");
      const look = async () => {
        const there = await atLeader.get(address);
        const before = hops.count;
        const here = await atFollower.get(address);
        assert(here.status !== 303, "there is a session");
        if (isAlone) assertEquals(hops.count, before, "it was forwarded");
        return [here, there].map(({ status, text }) => `${status} ${shown(text)}`);
      };
      // One may be made in another second, and counts are stored some seconds later.
      let pages = await look();
      const until_ms = performance.now() + 10_000;
      while (pages[0] !== pages[1] && performance.now() < until_ms) pages = await look();
      assertEquals(pages[0], pages[1]);
    });
  }

  await t.step("without the leader reads go on, and say what is missing", async () => {
    hops.isBroken = true;
    for (const { id, path } of reads) {
      if (AT_MACHINE.includes(id)) continue;
      const { status, text } = await ask(follower, addressOf(path, ids), ADMIN_TOKEN);
      assertEquals(status === 503, AT_LEADER.includes(id), `${id}: ${status} ${text}`);
    }
    const overview = await atFollower.get("");
    assertEquals(overview.status, 200);
    assert(overview.text.includes("The instance that leads is silent"), overview.text);
    const changed = await follower.api("PATCH", `triggers/${other.id}/`, { enabled: false });
    assertEquals(changed.status, 503);
    hops.isBroken = false;
  });

  await t.step(
    "answers of a leader that is gone end, also where its connection stays",
    async () => {
      hops.isFrozen = true;
      const page = deadline(atFollower.get("access"), 60_000);
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
      const address = `${follower.url}/api/v0/triggers/${trigger.id}/listen/`;
      const signal = AbortSignal.timeout(60_000);
      const { body } = await fetch(address, { method: "POST", headers, signal });
      await leader.service.close();
      assertEquals(await new Response(body).text(), ": alive\n\n");
      assertEquals((await page).status, 503);
    },
  );
});

/** Counts the requests that instances send to each other. */
function countHops() {
  const { fetch: sent } = globalThis;
  const hops = {
    count: 0,
    isBroken: false,
    isFrozen: false,
    [Symbol.dispose]() {
      globalThis.fetch = sent;
    },
  };
  globalThis.fetch = (input, init) => {
    if (new Headers(init?.headers).has(HOP)) {
      hops.count++;
      if (hops.isBroken) return Promise.reject(new TypeError("The way is broken"));
      if (hops.isFrozen) return Promise.resolve(frozenAnswer(init?.method === "POST"));
    }
    return sent(input, init);
  };
  return hops;
}

/** The answer of an instance that is frozen behind the first event, or within its JSON. */
function frozenAnswer(hasEvents: boolean): Response {
  const start = (events: ReadableStreamDefaultController) =>
    events.enqueue(new TextEncoder().encode(hasEvents ? ": alive\n\n" : "{"));
  const headers = { "content-type": hasEvents ? "text/event-stream" : "application/json" };
  return new Response(new ReadableStream({ start }), { headers });
}

async function launch({ url }: TestService, id: string): Promise<string> {
  return await eventually(async () => {
    const answer = await fetch(`${url}/api/v0/launch/${id}/`, { method: "POST", body: "{}" });
    const text = await answer.text();
    return answer.status === 200 ? /[0-9a-f-]{36}/.exec(text)?.[0] ?? await newest(url) : undefined;
  }, { what: "an accepted launch" });
}

async function newest(url: string): Promise<string> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const answer = await fetch(`${url}/api/v0/runs/?limit=1`, { headers });
  return (await answer.json()).results[0].id;
}

/** Asks for JSON. Returns what must be the same at each instance. */
async function ask({ url }: TestService, path: string, token: string) {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/api/v0/${path}`, { headers });
  const text = await answer.text();
  const kept = ["cache-control", "content-type", "etag", "www-authenticate"];
  return {
    status: answer.status,
    headers: kept.map((name) => answer.headers.get(name)),
    text: withoutTimes(text).replaceAll(/127\.0\.0\.1:\d+/g, "HERE"),
  };
}

function withoutTimes(text: string): string {
  if (!text.startsWith("{")) return text;
  return JSON.stringify(
    JSON.parse(text, (name, value) => TIMES.includes(name) ? undefined : value),
  );
}

function withoutNext(text = ""): unknown {
  return JSON.parse(text).results;
}

function addressOf(path: string, ids: Record<string, string>): string {
  const [, kind = ""] = path.split("/");
  const name = ids[kind] ?? crypto.randomUUID();
  return path.slice(1).replace(/\{path\}/, "none").replaceAll(/\{\w+\}/g, name);
}

function pageAddress(path: string, ids: Record<string, string>): string {
  const [, kind = ""] = path.split("/");
  return path.slice(1).replaceAll(/:\w+/g, ids[kind] ?? "none");
}

/** A page without what is another one in each answer. */
function shown(text: string): string {
  return text.replaceAll(/nonce="[^"]*"/g, "").replaceAll(/127\.0\.0\.1:\d+/g, "HERE")
    .replaceAll(/<time[^>]*>[^<]*<\/time>/g, "")
    .replaceAll(/name="csrf" value="[^"]*"/g, "").replaceAll(/\d+ (?:ms|s|min)\b/g, "")
    .replaceAll(/<base href="[^"]*">/g, "");
}
