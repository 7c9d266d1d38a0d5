/** Requests that one instance forwards to another. */
import { Hono } from "@hono/hono";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Forwarding, type Leading } from "../../src/http/forward.ts";
import { Hops } from "../../src/http/hops.ts";
import { collectLog } from "../log_records.ts";
import { eventually, TestClock } from "../surroundings.ts";

const PATH = "/api/v0/executions/01900000-0000-7000-8000-000000000001/log/";

/** Instances whose machines' addresses all lead to the same one. */
function instance() {
  const hops = new Hops("a-secret-of-all-instances", new TestClock());
  const leading: Leading = {
    isHere: true,
    canRead: true,
    url: undefined,
    placeOf: () => Promise.resolve({ isHere: false, url }),
    isGone: () => false,
  };
  let requests = 0;
  const app = new Hono();
  app.use("*", (_context, next) => {
    requests++;
    return next();
  });
  app.use(
    "*",
    new Forwarding(leading, hops, {
      clock: new TestClock(),
      peerOf: () => ({ ip: "127.0.0.1", secure: true }),
    }).toAny,
  );
  app.all("*", (context) => context.text("here"));
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => app.fetch(receivedBy(hops, request)),
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  return { url, count: () => requests, [Symbol.asyncDispose]: () => server.shutdown() };
}

Deno.test("forward: what was forwarded once is not forwarded again, wherever an address leads", async () => {
  await using shared = instance();
  const answer = await fetch(shared.url + PATH);
  assertEquals([answer.status, answer.headers.get("retry-after")], [503, "1"]);
  await answer.body?.cancel();
  assertEquals(shared.count(), 2);
});

Deno.test("forward: the leader answers what is not on another machine", async () => {
  await using shared = instance();
  assertEquals(await (await fetch(`${shared.url}/api/v0/triggers/`)).text(), "here");
});

const SECRET = "a-secret-of-all-instances";
const UPLOAD = "/api/v0/jobs/x/outputs?path=a";

/** Receives a request that is answered. */
function receivedBy(hops: Hops, request: Request): Request {
  const received = hops.receive(request);
  assert(received instanceof Request);
  return received;
}

/** Asserts that a request is answered 503, and told no reason. */
async function assertNotBelieved(hops: Hops, request: Request, what: string): Promise<void> {
  const received = hops.receive(request);
  assert(received instanceof Response, what);
  assertEquals([received.status, received.headers.get("retry-after")], [503, "1"], what);
  assertEquals(await received.json(), { title: "Service Unavailable", status: 503 }, what);
}

/** A hop of a request: as it travels, and as it can be made again with something changed. */
async function hopOf(hops: Hops, body: BodyInit | null, method = "PUT") {
  const request = new Request(`http://here${UPLOAD}`, { method, body });
  const headers = new Headers();
  const signed = hops.sign(request, "192.0.2.7", headers);
  const bytes = signed === null ? null : await new Response(signed).bytes();
  return (
    changed: { url?: string; method?: string; body?: BodyInit | null; hop?: string } = {},
  ) => {
    if (changed.hop !== undefined) headers.set("x-hooklaunch-hop", changed.hop);
    const { url = `http://leader${UPLOAD}`, body = bytes } = changed;
    return new Request(url, { method: changed.method ?? method, headers, body });
  };
}

Deno.test("hops: a request is believed once, with its own body", async () => {
  const clock = new TestClock();
  const [from, to] = [new Hops(SECRET, clock), new Hops(SECRET, clock)];
  for (const body of [null, "", "short", "x".repeat(200_000)]) {
    const again = await hopOf(from, body, body === null ? "GET" : "PUT");
    const received = receivedBy(to, again());
    assertEquals(to.senderOf(received), { ip: "192.0.2.7", secure: true });
    assertEquals(await received.text(), body ?? "");
    await assertNotBelieved(to, again(), "it was used before");
  }
  // Those before are forgotten after a while, and this one is not yet.
  clock.time_ms += 59_000;
  const early = await hopOf(from, null, "GET");
  receivedBy(to, early());
  clock.time_ms += 2_000;
  receivedBy(to, (await hopOf(from, null, "GET"))());
  await assertNotBelieved(to, early(), "it was used a moment ago");
});

Deno.test("hops: a changed request is not believed, nor is one with a changed body answered", async () => {
  const clock = new TestClock();
  const [from, to] = [new Hops(SECRET, clock), new Hops(SECRET, clock)];
  const changes: [what: string, change: Parameters<Awaited<ReturnType<typeof hopOf>>>[0]][] = [
    ["another path", { url: "http://leader/api/v0/jobs/y/outputs?path=a" }],
    ["another query", { url: `http://leader${UPLOAD}b` }],
    ["another method", { method: "POST" }],
    ["no body", { body: null }],
    ["no code", { hop: "1 192.0.2.7 x body" }],
    ["a code of another key", { hop: `${clock.now()} 192.0.2.7 x body ${"0".repeat(64)}` }],
  ];
  for (const [what, change] of changes) {
    const again = await hopOf(from, "content");
    await assertNotBelieved(to, again(change), what);
  }
  for (const content of ["contend", "conten", "content and more", ""]) {
    const again = await hopOf(from, "content");
    const code = (await again().bytes()).slice(-32);
    const received = receivedBy(to, again({ body: new Blob([content, code]) }));
    await assertRejects(() => received.text(), TypeError, "not the one that was sent");
  }
  const late = await hopOf(from, "content");
  clock.time_ms += 31_000;
  await assertNotBelieved(to, late(), "it is too old");
  assert(
    to.receive(new Request("http://leader/", { method: "POST", body: "x" })) instanceof Request,
  );
});

Deno.test("hops: an operator's grounds are believed as they were signed, and a stranger's are left out", async () => {
  const hops = new Hops(SECRET, new TestClock());
  const header = "x-hooklaunch-grant";
  const [grant, other] = [{ token_hash: "00" }, { token_hash: "01" }];
  const hop = (signed: typeof grant | undefined, sent: typeof grant | undefined) => {
    const headers = new Headers({ [header]: JSON.stringify(other) });
    hops.sign(new Request("http://here/"), "192.0.2.7", headers, signed);
    headers.delete(header);
    if (sent) headers.set(header, JSON.stringify(sent));
    return new Request("http://leader/", { headers });
  };
  for (const own of [grant, undefined]) {
    assertEquals(hops.grantOf(receivedBy(hops, hop(own, own))), own);
  }
  for (const [signed, sent] of [[grant, other], [grant, undefined], [undefined, other]]) {
    await assertNotBelieved(hops, hop(signed, sent), JSON.stringify([signed, sent]));
  }
  const headers = new Headers({ [header]: JSON.stringify(other) });
  hops.sign(new Request("http://here/"), "192.0.2.7", headers);
  assertEquals(headers.has(header), false);
});

Deno.test("hops: the log says why a request is not believed, and not for each", async () => {
  await using log = await collectLog("warning");
  const hops = new Hops(SECRET, new TestClock());
  const forged = { "x-hooklaunch-hop": "1 192.0.2.7 x none 00" };
  let sent = 0;
  await eventually(() => {
    sent++;
    assert(hops.receive(new Request("http://here/", { headers: forged })) instanceof Response);
    return log.lines().length > 0;
  });
  for (let count = 0; count < 100; count++) {
    hops.receive(new Request("http://here/", { headers: forged }));
  }
  const [line = ""] = log.lines();
  assert(line.includes("HOOKLAUNCH_SECRET_KEY"), line);
  assert(log.lines().length < sent + 100, String(log.lines().length));
});

Deno.test("hops: an instance whose wall clock has jumped forwards, and is believed", async () => {
  const [clock, jumped] = [new TestClock(), new TestClock()];
  jumped.ahead_ms = -3_600_000;
  const [from, to] = [new Hops(SECRET, jumped), new Hops(SECRET, clock)];
  for (const [one, other] of [[from, to], [to, from]] as const) {
    const received = receivedBy(other, (await hopOf(one, "content"))());
    assertEquals(other.senderOf(received), { ip: "192.0.2.7", secure: true });
    assertEquals(await received.text(), "content");
  }
});

Deno.test("forward: the leader gets a body as it was sent, long or short, with its length", async () => {
  const hops = new Hops(SECRET, new TestClock());
  const serve = (handler: (request: Request) => Response | Promise<Response>) =>
    Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler);
  await using leader = serve(async (request) => {
    const received = receivedBy(hops, request);
    const { ip } = hops.senderOf(received) ?? {};
    const length = received.headers.get("content-length") ?? "unknown";
    return new Response(`${ip} ${length} ${await received.text()}`);
  });
  const url = `http://127.0.0.1:${leader.addr.port}`;
  const leading = {
    isHere: false,
    canRead: true,
    url,
    placeOf: () => Promise.resolve(undefined),
    isGone: () => false,
  };
  const app = new Hono();
  app.use(
    "*",
    new Forwarding(leading, hops, {
      clock: new TestClock(),
      peerOf: () => ({ ip: "192.0.2.7", secure: true }),
    }).toLeader,
  );
  await using follower = serve((request) => app.fetch(request));
  for (const body of ["", "short", "x".repeat(300_000)]) {
    const sent = { method: "POST", body };
    const answer = await fetch(`http://127.0.0.1:${follower.addr.port}/api/v0/triggers/`, sent);
    const [ip, length = "", text] = (await answer.text()).split(" ");
    assertEquals([ip, text], ["192.0.2.7", body]);
    assert(["unknown", String(body.length)].includes(length), length);
  }
});

/** A clock whose timers pass when a test says so. */
class HandClock extends TestClock {
  #calls: (() => void)[] = [];

  override after(_delay_ms: number, call: () => void): () => void {
    this.#calls.push(call);
    return () => void (this.#calls = this.#calls.filter((other) => other !== call));
  }

  get timers(): number {
    return this.#calls.length;
  }

  pass(): void {
    for (const call of this.#calls.splice(0)) call();
  }
}

Deno.test("forward: an instance that counts as gone is not waited for, its events end, and its files break off", async () => {
  const clock = new HandClock();
  const hops = new Hops(SECRET, clock);
  const serve = (handler: Deno.ServeHandler<Deno.NetAddr>) =>
    Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler);
  const asked = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Response>();
  await using frozen = serve((request) => {
    if (request.method === "GET") {
      const start = (stream: ReadableStreamDefaultController) => stream.enqueue(new Uint8Array(1));
      const isFile = request.url.endsWith("/outputs/a");
      const headers = { "content-type": isFile ? "text/plain" : "text/event-stream" };
      return new Response(new ReadableStream({ start }), { headers });
    }
    asked.resolve();
    return ended.promise;
  });
  const url = `http://127.0.0.1:${frozen.addr.port}`;
  let isGone = false;
  const leading = {
    isHere: false,
    canRead: true,
    url,
    placeOf: () => Promise.resolve(undefined),
    isGone: () => isGone,
  };
  const app = new Hono();
  const peerOf = () => ({ ip: "192.0.2.7", secure: true });
  app.use("*", new Forwarding(leading, hops, { clock, peerOf }).toLeader);
  await using follower = serve((request, info) => app.fetch(request, info));
  const path = `http://127.0.0.1:${follower.addr.port}/api/v0/triggers/`;
  const late = fetch(path, { method: "POST" });
  await asked.promise;
  clock.pass();
  assertEquals(clock.timers, 1);
  isGone = true;
  clock.pass();
  const answer = await late;
  const { detail } = await answer.json();
  assertEquals([answer.status, answer.headers.get("retry-after")], [504, "5"]);
  assert(detail.includes("It may have begun with what was asked"), detail);
  assertEquals(clock.timers, 0);
  ended.resolve(new Response());
  isGone = false;

  const reader = (await fetch(path)).body?.getReader();
  assertEquals((await reader?.read())?.value?.length, 1);
  clock.pass();
  assertEquals(clock.timers, 1);
  isGone = true;
  clock.pass();
  assertEquals((await reader?.read())?.done, true);
  await eventually(() => clock.timers === 0 || undefined, { what: "the end of the looks" });

  isGone = false;
  const left = (await fetch(path)).body?.getReader();
  assertEquals((await left?.read())?.value?.length, 1);
  await left?.cancel();
  await eventually(() => clock.timers === 0 || undefined, { what: "the end of the looks" });

  // A file is never shown as whole where it is not.
  const file = (await fetch(`${path}outputs/a`)).body?.getReader();
  assertEquals((await file?.read())?.value?.length, 1);
  assertEquals(clock.timers, 1);
  isGone = true;
  clock.pass();
  await assertRejects(async () => await file?.read(), TypeError);
  await eventually(() => clock.timers === 0 || undefined, { what: "the end of the looks" });
});
