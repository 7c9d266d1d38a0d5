/** The action `http_request`, on one running service with a real server that receives. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { verify as verifyGithub } from "@octokit/webhooks-methods";
import { createPublicKey, generateKeyPairSync, verify as verifyEd25519 } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { isPublic } from "../../src/platform/network/public_addresses.ts";
import { endOfRun, eventually, startService, type TestService } from "../data.ts";
import { type Answering, type Received, type Receiver, startReceiver } from "./receiver.ts";

const STANDARD_KEY = `whsec_${btoa("a key of the tests, 32 bytes long")}`;
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const ENV = {
  API_TOKEN: "token-of-the-environment",
  STANDARD_KEY,
  DISCORD_KEY: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
};
/** An address of the loopback network that counts as public here. */
const PUBLIC = "127.0.0.2";

interface Case {
  name: string;
  action?: Record<string, unknown>;
  body?: string;
  /** The answer; 200 when absent. */
  answers?: Answering;
  status?: "complete" | "error";
  answered?: number;
  reason?: RegExp;
  attempts?: number;
  /** What the server must have got. */
  got?: (received: Received[], request: Sent) => void | Promise<void>;
}

// The tests look into it by the API's contract.
// deno-lint-ignore no-explicit-any
type Sent = any;

const ok: Answering = () => Response.json({ done: true });
const NOW = { first: 0 };

const cases: Case[] = [
  {
    name: "values in url, headers and body",
    action: {
      path: "/{body.name}/x?q={body.name}",
      headers: { "X-Ref": "{body.ref}", "x-run": "{run_id}" },
      body: { ref: "{body.ref}", list: "{body.list}", text: "n={body.n}" },
    },
    body: '{"name": "a b/../c?&é", "ref": "main", "list": [1, "2"], "n": 7}',
    got([{ target, headers, body, method } = NOTHING]) {
      assertEquals(method, "POST");
      assertEquals(
        target,
        "/a%20b%2F..%2Fc%3F%26%C3%A9/x?q=a%20b%2F..%2Fc%3F%26%C3%A9",
      );
      assertEquals(headers.get("x-ref"), "main");
      assertEquals(headers.get("content-type"), "application/json");
      assertEquals(JSON.parse(body), { ref: "main", list: [1, "2"], text: "n=7" });
    },
  },
  {
    name: "a form",
    action: {
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: { token: "{body.t}", "variables[A]": "1", many: ["a", "b"] },
    },
    body: '{"t": "x&y"}',
    got([{ body } = NOTHING]) {
      assertEquals(body, "token=x%26y&variables%5BA%5D=1&many=a&many=b");
    },
  },
  {
    name: "a text, and the whole body as JSON",
    action: { method: "PUT", body: "{body}" },
    body: '{"a": [1, {"b": null}]}',
    got([{ body, method } = NOTHING]) {
      assertEquals([method, JSON.parse(body)], ["PUT", { a: [1, { b: null }] }]);
    },
  },
  {
    name: "a secret in a header",
    action: {
      method: "GET",
      headers: {
        authorization: { secret: "{env:API_TOKEN}", prefix: "Bearer " },
        "x-api-key": { secret: "a-literal-of-the-tests" },
      },
    },
    got([{ headers } = NOTHING]) {
      assertEquals(headers.get("authorization"), "Bearer token-of-the-environment");
      assertEquals(headers.get("x-api-key"), "a-literal-of-the-tests");
    },
  },
  {
    name: "500s, then 200",
    answers: (_, { length }) => new Response("busy", { status: length < 3 ? 500 : 201 }),
    answered: 201,
    attempts: 3,
    got: sameKey,
  },
  {
    name: "each status that passes",
    action: { retry: { ...NOW, attempts: 6 } },
    answers: (_, { length }) =>
      new Response("x", { status: [408, 425, 429, 503, 504, 200][length - 1] ?? 400 }),
    answered: 200,
    attempts: 6,
    got: sameKey,
  },
  {
    name: "attempts have an end",
    action: { retry: { ...NOW, attempts: 3 } },
    answers: () => new Response("x", { status: 502 }),
    status: "error",
    answered: 502,
    attempts: 3,
    reason: /status 502, at attempt 3 of 3/,
  },
  {
    name: "a status that stays is final",
    answers: () => new Response("no such job", { status: 404 }),
    status: "error",
    answered: 404,
    attempts: 1,
    reason: /status 404/,
  },
  {
    name: "Retry-After of more than a day",
    answers: () => new Response("x", { status: 429, headers: { "retry-after": "90000" } }),
    status: "error",
    answered: 429,
    reason: /more than a day/,
  },
  {
    name: "Retry-After of nothing",
    answers: (_, { length }) =>
      new Response("x", { status: length < 2 ? 429 : 200, headers: { "retry-after": "0" } }),
    attempts: 2,
    got: sameKey,
  },
  {
    name: "too slow",
    action: { timeout: 1, retry: { attempts: 1 } },
    answers: () => new Promise<Response>(() => {}),
    status: "error",
    reason: /no answer within 1 s/,
  },
  {
    name: "a long body is cut",
    answers: () => new Response("x".repeat(3_000_000)),
    got(_, { answer }) {
      assertEquals([answer.size, answer.cut], [65_536, true]);
      assertEquals(atob(answer.body), "x".repeat(65_536));
    },
  },
  {
    name: "the answer says that the work has failed",
    action: { failed: "answer.body.state == 'failed'" },
    answers: () => Response.json({ state: "failed" }),
    status: "error",
    answered: 200,
    reason: /The work has failed: answer.body.state/,
  },
  {
    name: "an answer without what failed looks for",
    action: { failed: "answer.body.state == 'failed'" },
    answers: () => new Response("no JSON"),
    status: "error",
    answered: 200,
    reason: /^failed: /,
  },
  {
    name: "signed as Standard Webhooks",
    action: {
      body: { a: "{body.a}" },
      sign: { preset: "standard_webhooks", secret: "{env:STANDARD_KEY}" },
      retry: { first: 0 },
    },
    body: '{"a": 1}',
    answers: (_, { length }) => new Response("x", { status: length < 2 ? 500 : 200 }),
    attempts: 2,
    got(all, request) {
      for (const { body, headers } of all) {
        const sent = Object.fromEntries(headers);
        assertEquals(new Webhook(STANDARD_KEY).verify(body, sent), { a: 1 });
        assertEquals(sent["webhook-id"], request.id);
      }
      sameKey(all, request);
    },
  },
  {
    name: "signed as GitHub",
    action: { body: { a: 1 }, sign: { preset: "github", secret: "a-secret-of-the-tests" } },
    async got([{ body, headers } = NOTHING]) {
      const signature = headers.get("x-hub-signature-256") ?? "";
      assert(await verifyGithub("a-secret-of-the-tests", body, signature));
    },
  },
  {
    name: "signed with a private key",
    action: { body: { a: 1 }, sign: { preset: "discord", secret: "{env:DISCORD_KEY}" } },
    got([{ body, headers } = NOTHING]) {
      const signature = Uint8Array.fromHex(headers.get("x-signature-ed25519") ?? "");
      const signed = new TextEncoder().encode((headers.get("x-signature-timestamp") ?? "") + body);
      assert(verifyEd25519(
        null,
        signed,
        createPublicKey(publicKey.export({
          type: "spki",
          format: "pem",
        })),
        signature,
      ));
    },
  },
  {
    name: "a redirect keeps the method and the body",
    answers: ({ target }) =>
      target.endsWith("/there") ? new Response("there") : new Response(null, {
        status: 307,
        headers: { location: "/a-redirect-keeps-the-method-and-the-body?to=/there" },
      }),
    action: { body: "kept" },
    got(all) {
      assertEquals(all.map(({ method, body }) => [method, body]), [
        ["POST", "kept"],
        ["POST", "kept"],
      ]);
    },
  },
  {
    name: "moved for good, a body is put there",
    answers: ({ target }) =>
      target.endsWith("/there") ? new Response("there") : new Response(null, {
        status: 301,
        headers: { location: "/moved-for-good-a-body-is-put-there?to=/there" },
      }),
    action: { method: "PUT", body: "put" },
    got(all) {
      assertEquals(all.map(({ method, body }) => [method, body]), [["PUT", "put"], ["PUT", "put"]]);
    },
  },
  {
    name: "a header named secrets",
    action: { headers: { secrets: "shown", x: "1" } },
    got([{ headers } = NOTHING]) {
      assertEquals(headers.get("secrets"), "shown");
    },
  },
  {
    name: "a value that leads out of its place",
    action: { path: "/{body.name}/build" },
    body: '{"name": ".."}',
    status: "error",
    reason: /url: expected a value of \{body.name\}, found none: ".." is no part of a path/,
  },
  {
    name: "a value too long for a URL",
    action: { path: "/{body.name}" },
    body: JSON.stringify({ name: "x".repeat(8_192) }),
    status: "error",
    reason: /url: expected a URL of at most 8192 characters, found 82\d\d$/,
  },
  {
    name: "a header of two lines",
    action: { headers: { "x-a": "{body.a}" } },
    body: JSON.stringify({ a: "x\r\nhost: y" }),
    status: "error",
    reason: /headers\/x-a: expected a text without line breaks/,
  },
  {
    name: "a missing value",
    action: { body: { a: "{body.none}" } },
    status: "error",
    reason: /body\/a: expected a value of \{body.none\}/,
  },
  {
    name: "a secret that is not set",
    action: { headers: { authorization: { secret: "{env:NOT_SET}" } } },
    status: "error",
    reason: /headers\/authorization\/secret cannot be used/,
  },
];

const NOTHING: Received = { method: "", target: "", headers: new Headers(), body: "" };

/** Each attempt has the id of the request. */
function sameKey(all: readonly Received[], { id }: Sent): void {
  assertEquals(new Set(all.map(({ headers }) => headers.get("idempotency-key"))), new Set([id]));
}

Deno.test("an action sends a request, and tells what came back", async (t) => {
  await using receiver = startReceiver();
  await using service = await startService({ env: ENV });
  for (const each of cases) {
    await t.step(each.name, async () => {
      const path = `/${each.name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`;
      const { path: own = "", ...action } = each.action ?? {};
      receiver.on(path, each.answers ?? ok);
      const target = own === "" ? path : String(own);
      if (own !== "") receiver.on("/a%20b%2F..%2Fc%3F%26%C3%A9/x", ok);
      const launched = await launch(service, {
        ...{ retry: { first: 0 } },
        ...action,
        url: `http://127.0.0.1:${receiver.port}${target}`,
      }, each.body);
      const { run, sent } = await ended(service, launched);
      const { status = "complete", reason, attempts, answered } = each;
      if (sent === undefined) {
        assertEquals(status, "error", JSON.stringify(run));
        assertMatch(run.actions[0].error, reason ?? /none/);
        return;
      }
      const say = JSON.stringify(sent);
      assertEquals(sent.status, status, say);
      if (reason) assertMatch(sent.reason, reason);
      if (attempts !== undefined) assertEquals(sent.attempts, attempts, say);
      if (answered !== undefined) assertEquals(sent.answer.status, answered, say);
      const arrived = own === "" ? receiver.at(path) : receiver.at("/a%20b%2F..%2Fc%3F%26%C3%A9/x");
      assert(receiver.atOnce(path) <= 1, "one at a time");
      await each.got?.(arrived, sent);
    });
  }
  await t.step("an attempt whose URL has room leaves room for its outcome", async () => {
    const path = `/${"x".repeat(8_000)}`;
    receiver.on(path, () => new Response("x", { headers: { "x-long": "y".repeat(4_000) } }));
    const url = `http://127.0.0.1:${receiver.port}/{body.name}`;
    const launched = await launch(service, { url }, JSON.stringify({ name: path.slice(1) }));
    assertEquals((await ended(service, launched)).sent.status, "complete");
  });
  await t.step("the sender sees where it went and what was answered", () => senderSees(service));
  await t.step("nothing shows a secret", () => showsNoSecret(service));
  await t.step(
    "a receiver that echoes its request shows no secret",
    () => echoes(service, receiver),
  );
  await t.step("however it is written", () => echoesAll(service, receiver));
  await t.step("a failure has a line in its trigger's log, and a count", () => isLogged(service));
  await t.step("a pause is as long as the server asks for", () => pauses(service, receiver));
  await t.step("a replay sends another request", () => replays(service, receiver));
  await t.step("a run ends, however long the addresses are", () => hasLongUrls(service, receiver));
});

async function hasLongUrls(service: TestService, receiver: Receiver): Promise<void> {
  const action = {
    type: "http_request",
    private_networks: true,
    retry: { attempts: 1 },
    url: `http://127.0.0.1:${receiver.port}/long/{body.name}`,
  };
  const { url } = await service.trigger({
    name: "long",
    actions: Array.from({ length: 10 }, () => action),
    response: { type: "text", text: "{run_id}" },
  });
  const body = JSON.stringify({ name: "a".repeat(8_000) });
  const id = await (await fetch(url, { method: "POST", body })).text();
  const { status, actions } = await endOfRun(service, id);
  assertEquals(status, "completed");
  for (const { created } of actions) {
    const { body: sent } = await service.api("GET", `http-requests/${created.http_request_id}/`);
    assertEquals([sent.url === created.url, sent.url.endsWith("aaa...")], [true, true], sent.url);
    assertEquals(sent.url.length, 1_024);
  }
}

async function senderSees(service: TestService): Promise<void> {
  const { body: { results } } = await service.api("GET", "deliveries/?limit=100");
  const of = (status: string) =>
    results.find(({ http_requests = [] }: Sent) => http_requests[0]?.status === status);
  for (const [status, answered] of [["complete", 200], ["error", null]] as const) {
    const found = results.find(({ http_requests: [request] = [] }: Sent) =>
      request?.status === status && (request.answered ?? null) === answered
    ) ?? of(status);
    const answer = await fetch(
      `${service.url}/api/v0/launch/${found.trigger_id}/run/?run_id=${found.run_id}`,
    );
    assertEquals(await answer.json(), {
      status: "completed",
      result: [{
        action: "http_request",
        url: found.http_requests[0].url,
        status: answered,
        outcome: status,
      }],
    });
  }
}

async function echoes(service: TestService, receiver: Receiver): Promise<void> {
  receiver.on("/echoes", ({ headers, body }) => {
    const echo = { headers: Object.fromEntries(headers), body, calls: [JSON.parse(body).call] };
    const name = new TextDecoder("latin1").decode(new TextEncoder().encode("sésame"));
    return Response.json(echo, {
      headers: { "x-echo": headers.get("authorization") ?? "", "x-name": name },
    });
  });
  const run = await launch(service, {
    url: `http://127.0.0.1:${receiver.port}/echoes`,
    headers: {
      authorization: { secret: "{env:API_TOKEN}", prefix: "Bearer " },
      "x-api-key": { secret: 'a "literal" of the tests' },
      "x-plain": "shown",
    },
    wait: "callback",
    body: { call: "{callback_url}" },
  });
  const answer = await eventually(async () => {
    const { body: { http_requests: [found] } } = await service.api("GET", `deliveries/${run}/`);
    if (found?.status !== "waiting") return undefined;
    return (await service.api("GET", `http-requests/${found.id}/`)).body.answer;
  }, { what: "the answer" });
  const echoed = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(answer.body)));
  assertEquals(
    ["authorization", "x-api-key", "x-plain"].map((name) => echoed.headers[name]),
    ["Bearer ********", "********", "shown"],
  );
  assertMatch(echoed.calls[0], /^http.*\/callbacks\/[0-9a-f-]{36}\/\*{8}\/$/);
  assert(!/[0-9a-f]{64}/.test(echoed.body), echoed.body);
  const { headers } = answer;
  assertEquals([headers["x-echo"], headers["x-name"]], ["Bearer ********", "sésame"]);
}

/** Places in which a token of a provider, or of a callback, is written otherwise. */
const TOLD: Record<string, unknown>[] = [
  { path: "?to={callback_url}", body: {}, sign: { preset: "gitlab", secret: "{env:API_TOKEN}" } },
  {
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: { to: "{callback_url}" },
    sign: { preset: "azure_event_grid", secret: "a secret (of the query)" },
  },
  { body: "{callback_url}", sign: { preset: "azure_devops", secret: "{env:API_TOKEN}" } },
];

async function echoesAll(service: TestService, receiver: Receiver): Promise<void> {
  receiver.on(
    "/echoes-all",
    ({ target, headers, body }) =>
      Response.json({ target, headers: Object.fromEntries(headers), body }),
  );
  for (const { path = "", ...settings } of TOLD) {
    const url = `http://127.0.0.1:${receiver.port}/echoes-all${path}`;
    const run = await launch(service, { url, wait: "callback", ...settings });
    const { id } = await eventually(async () => {
      const sent = await sentOf(service, run);
      return sent?.status === "waiting" ? sent : undefined;
    }, { what: "the answer" });
    const { body: { answer } } = await service.api("GET", `http-requests/${id}/`);
    const shown = atob(answer.body);
    assertMatch(shown, /\*{8}/);
    assert(!/[0-9a-f]{64}/.test(shown), shown);
    const basic = btoa(`hooklaunch:${ENV.API_TOKEN}`);
    for (const secret of [ENV.API_TOKEN, basic, "secret+%28of", "secret%20(of"]) {
      assert(!shown.includes(secret), shown);
    }
  }
}

async function showsNoSecret(service: TestService): Promise<void> {
  const pages = await Promise.all([
    service.api("GET", "triggers/?limit=100"),
    service.api("GET", "deliveries/?limit=100"),
    service.api("GET", "runs/?limit=100"),
  ]);
  const stored = await Array.fromAsync(
    service.service.parts.store.kv.list({ prefix: [] }),
    ({ value }) =>
      value instanceof Uint8Array ? new TextDecoder().decode(value) : JSON.stringify(value),
  );
  const all = JSON.stringify(pages) + stored.join("\n");
  for (const secret of ["a-literal-of-the-tests", "a-secret-of-the-tests", ENV.API_TOKEN]) {
    assert(!all.includes(secret), secret);
  }
  assert(all.includes("{env:API_TOKEN}"));
}

async function isLogged(service: TestService): Promise<void> {
  const { body: { results } } = await service.api("GET", "triggers/?limit=100");
  const { id } = results.find(({ name }: Sent) => name === "attempts-have-an-end") ?? results[0];
  const failed = results.find(({ id: each }: Sent) => each === id);
  const log = await eventually(async () => {
    const { body } = await service.api("GET", `triggers/${failed.id}/log/`);
    return body.results.length > 0 ? body.results : undefined;
  });
  assertEquals(log[0].kind, "http_request_failed");
  assertMatch(log[0].error, /status 502/);
  const metrics = await fetch(`${service.url}/metrics`, {
    headers: { authorization: "Bearer an-operators-token-for-tests" },
  });
  assertMatch(await metrics.text(), /hooklaunch_http_requests_total\{status="error"\} [1-9]/);
}

async function pauses(service: TestService, receiver: Receiver): Promise<void> {
  const answers = { "/asks": "3600", "/says-nothing": undefined };
  for (const [path, asked] of Object.entries(answers)) {
    receiver.on(path, () =>
      new Response("x", {
        status: 503,
        headers: asked === undefined ? {} : { "retry-after": asked },
      }));
    const url = `http://127.0.0.1:${receiver.port}${path}`;
    const launched = await launch(service, { url, retry: { first: 600, factor: 2 } });
    const waiting = await eventually(async () => {
      const sent = await sentOf(service, launched);
      return sent?.next_at === undefined ? undefined : sent;
    });
    const pause_s = (Date.parse(waiting.next_at) - Date.parse(waiting.answer.received_at)) / 1_000;
    assertEquals([waiting.status, pause_s], ["sending", asked === undefined ? 600 : 3_600]);
    const stopped = await service.api("POST", `http-requests/${waiting.id}/stop/`);
    assertEquals([stopped.status, stopped.body.status], [202, "stopped"]);
    assertEquals((await service.api("POST", `http-requests/${waiting.id}/stop/`)).status, 202);
  }
}

async function replays(service: TestService, receiver: Receiver): Promise<void> {
  receiver.on("/replayed", ok);
  const url = `http://127.0.0.1:${receiver.port}/replayed`;
  const launched = await launch(service, { url, body: { n: "{body.n}" } }, '{"n": 1}');
  const first = (await ended(service, launched)).sent;
  const { body: replay } = await service.api("POST", `runs/${launched}/replay/`);
  const second = (await ended(service, replay.id)).sent;
  const keys = receiver.at("/replayed").map(({ headers }) => headers.get("idempotency-key"));
  assertEquals(keys, [first.id, second.id]);
  assertEquals(receiver.at("/replayed").map(({ body }) => body), ['{"n":1}', '{"n":1}']);
}

Deno.test("a request reaches public addresses alone, at every hop", async (t) => {
  let asked = 0;
  await using inside = startReceiver("127.0.0.1");
  await using outside = startReceiver(PUBLIC);
  await using service = await startService({
    network: {
      resolve: (host) =>
        Promise.resolve([host === "moves.test" && ++asked > 1 ? "127.0.0.1" : PUBLIC]),
      isPublic: (address) => address === PUBLIC || isPublic(address),
      caCerts: [],
    },
  });
  inside.on("/", ok);
  outside.on("/", ok);
  outside.on("/inside", () => redirect(`http://127.0.0.1:${inside.port}/`));
  outside.on("/moved", () => redirect(`http://moves.test:${inside.port}/`));
  outside.on("/elsewhere", () => redirect(`http://other.test:${outside.port}/got`));
  outside.on("/got", ok);
  const redirected = /it redirects to .*no public address: a redirect to another origin must/;
  const refused: [what: string, url: string, reason: RegExp][] = [
    [
      "an address",
      `http://127.0.0.1:${inside.port}/`,
      /no public address: .* private_networks of the action/,
    ],
    ["behind a redirect", `http://public.test:${outside.port}/inside`, redirected],
    ["a name that moves", `http://moves.test:${outside.port}/moved`, redirected],
  ];
  for (const [what, url, reason] of refused) {
    await t.step(what, async () => {
      const { sent } = await ended(
        service,
        await launch(service, { url, private_networks: false }),
      );
      assertEquals([sent.status, sent.attempts], ["error", 1]);
      assertMatch(sent.reason, reason);
      assertEquals(inside.at("/").length, 0);
    });
  }
  await t.step("behind a redirect of a private address to another one", async () => {
    await using other = startReceiver("127.0.0.1");
    other.on("/", ok);
    inside.on("/leads-on", () => redirect(`http://127.0.0.1:${other.port}/`));
    const url = `http://127.0.0.1:${inside.port}/leads-on`;
    const { sent } = await ended(service, await launch(service, { url, private_networks: true }));
    assertEquals([sent.status, sent.attempts], ["error", 1]);
    assertMatch(sent.reason, redirected);
    assertEquals(other.at("/").length, 0);
  });
  await t.step("another host gets no secret and no body", async () => {
    const { sent } = await ended(
      service,
      await launch(service, {
        url: `http://public.test:${outside.port}/elsewhere`,
        headers: { authorization: { secret: "secret-of-one-host" }, "x-other": "1" },
        body: "text",
        private_networks: false,
      }),
    );
    const [first] = outside.at("/elsewhere");
    assertEquals(first?.headers.get("authorization"), "secret-of-one-host");
    assertEquals([sent.status, sent.attempts, outside.at("/got")], ["error", 1, []]);
    assertMatch(
      sent.reason,
      /it redirects to http:\/\/other.test:\d+, which does not get the body: write the address/,
    );
    outside.on("/elsewhere-by-get", () => redirect(`http://other.test:${outside.port}/got`, 303));
    const bare = await launch(service, {
      url: `http://public.test:${outside.port}/elsewhere-by-get`,
      headers: { authorization: { secret: "secret-of-one-host" }, "x-other": "1" },
      body: "text",
      private_networks: false,
    });
    assertEquals((await ended(service, bare)).sent.status, "complete");
    const [second] = outside.at("/got");
    assertEquals(
      [second?.headers.get("authorization"), second?.headers.get("x-other"), second?.body],
      [null, null, ""],
    );
  });
});

const refusedSettings: [string, Record<string, unknown>, string, RegExp][] = [
  ["no scheme", { url: "example.com/x" }, "/url", /begins with http/],
  ["a password in the URL", { url: "https://a:b@example.com/" }, "/url", /authorization/],
  [
    "a literal credential",
    { headers: { Authorization: "Bearer x" } },
    "/headers/Authorization",
    /^Expected \{ secret.*, found a text that would not be encrypted$/,
  ],
  ["a header of the connection", { headers: { Host: "x" } }, "/headers/Host", /Must not be set/],
  ["a header twice", { headers: { "x-a": "1", "X-A": "2" } }, "/headers", /twice/],
  ["no header", { headers: { "x a": "1" } }, "/headers/x a", /name of a header/],
  ["an unknown name", { body: { a: "{bdy.x}" } }, "/body/a", /Unknown variable 'bdy'/],
  ["no callback", { body: "{callback_url}" }, "/body", /Unknown variable 'callback_url'/],
  ["an answer too soon", { body: "{answer.status}" }, "/body", /Unknown variable 'answer'/],
  ["nobody could call back", { wait: "callback" }, "/wait", /Expected \{callback_url\}/],
  ["an unknown preset", { sign: { preset: "nobody", secret: "s" } }, "/sign/preset", /nobody/],
  ["a preset of certificates", { sign: { preset: "sns", secret: "s" } }, "/sign/preset", /sns/],
  [
    "a secret for a host of the sender's",
    { url: "https://{body.host}/", headers: { authorization: { secret: "secret-of-the-tests" } } },
    "/url",
    /without values/,
  ],
  [
    "a private host of the sender's",
    { url: "http://{body.host}/", private_networks: true },
    "/url",
    /without values/,
  ],
  ["a body of a GET", { method: "GET", body: "x" }, "/body", /GET/],
  ["an unknown wait", { wait: "forever" }, "/wait", /"none", "callback"/],
  ["no bool", { failed: "'x'" }, "/failed", /true or false/],
];

Deno.test("mistakes in an HTTP request are told when its trigger is saved", async (t) => {
  await using service = await startService();
  for (const [what, settings, pointer, detail] of refusedSettings) {
    await t.step(what, async () => {
      const { status, body } = await service.api("POST", "triggers/", {
        name: what.replaceAll(/[^a-z]+/gi, "-"),
        project: "files",
        actions: [{ type: "http_request", url: "https://example.com/", ...settings }],
      });
      const say = JSON.stringify(body);
      assertEquals([status, body.errors?.[0]?.pointer], [422, `/actions/0${pointer}`], say);
      assertMatch(body.errors[0].detail, detail);
    });
  }
});

const BODY_MAX = 32_768;

Deno.test("a body of an HTTP request has as many characters as the docs say, a text without quotes", async () => {
  await using service = await startService();
  for (
    const [sent, status] of [
      ["x".repeat(BODY_MAX), 201],
      ["x".repeat(BODY_MAX + 1), 422],
      [["x".repeat(BODY_MAX - '[""]'.length)], 201],
      [["x".repeat(BODY_MAX + 1 - '[""]'.length)], 422],
    ] as const
  ) {
    const { status: found, body } = await service.api("POST", "triggers/", {
      name: `longest-${sent[0]?.length}-${sent.length}`,
      project: "files",
      actions: [{ type: "http_request", url: "https://example.com/", body: sent }],
    });
    assertEquals(found, status, JSON.stringify(body).slice(0, 500));
  }
});

const poll = (url: string) => ({ wait: { poll: { url, until: "true" } } });
const PRIVATE = (host: string) =>
  `${host} is no public address, so nothing is sent to it: ` +
  "set private_networks: true in the action, with a token without limits";
const warnedSettings: [Record<string, unknown>, pointer?: string, host?: string][] = [
  [{ url: "http://127.0.0.1:8080/x" }, "/url", "127.0.0.1"],
  [{ url: "http://127.1/{body.x}" }, "/url", "127.0.0.1"],
  [{ url: "http://localhost/" }, "/url", "localhost"],
  [{ url: "https://10.1.2.3/{body.x}", private_networks: false }, "/url", "10.1.2.3"],
  [{ url: "https://[fd00::1]/" }, "/url", "fd00::1"],
  [{ url: "http://169.254.169.254/latest/meta-data/" }, "/url", "169.254.169.254"],
  [{ ...poll("http://192.168.1.1/{answer.json.id}") }, "/wait/poll/url", "192.168.1.1"],
  [{ url: "http://127.0.0.1/", private_networks: true }],
  [{ url: "https://{body.host}/" }],
  [{ ...poll("{answer.json.url}") }],
  [{ url: "https://1.1.1.1/" }],
];

Deno.test("an address of a request that is not public by its form is told when its trigger is saved", async () => {
  await using service = await startService();
  for (const [index, [settings, pointer, host = ""]] of warnedSettings.entries()) {
    const { status, body } = await service.api("POST", "triggers/", {
      name: `private-${index}`,
      project: "files",
      conditions: [{
        type: "static_token",
        in: "header",
        name: "X-Token",
        secrets: ["a-secret-of-the-tests-0123456789"],
      }],
      actions: [{ type: "http_request", url: "https://example.com/", ...settings }],
    });
    const say = `${JSON.stringify(settings)} ${JSON.stringify(body)}`;
    const expected = pointer === undefined
      ? []
      : [{ pointer: `/actions/0${pointer}`, detail: PRIVATE(host) }];
    assertEquals([status, body.warnings], [201, expected], say);
  }
});

function redirect(location: string, status = 307): Response {
  return new Response(null, { status, headers: { location } });
}

let triggers = 0;

/** Launches a trigger with one action, and returns the id of the run. */
async function launch(
  service: TestService,
  settings: Record<string, unknown>,
  body = "{}",
): Promise<string> {
  const path = URL.parse(String(settings.url))?.pathname.slice(1) || `sends-${++triggers}`;
  const name = /^[a-z0-9-]+$/.test(path) ? path : `sends-${++triggers}`;
  const { url } = await service.trigger({
    name,
    actions: [{ type: "http_request", private_networks: true, ...settings }],
    response: { type: "text", text: "{run_id}" },
  }).catch(() =>
    service.trigger({
      name: `sends-${++triggers}`,
      actions: [{ type: "http_request", private_networks: true, ...settings }],
      response: { type: "text", text: "{run_id}" },
    })
  );
  const answer = await fetch(url, { method: "POST", body });
  const id = await answer.text();
  assertEquals(answer.status, 200, id);
  return id;
}

/** Reads the request of a run; undefined when there is none. */
async function sentOf(service: TestService, runId: string): Promise<Sent> {
  return (await service.api("GET", `deliveries/${runId}/`)).body.sent?.[0];
}

/** Waits for the end of a run and of its request. */
async function ended(service: TestService, runId: string): Promise<{ run: Sent; sent: Sent }> {
  const run = await endOfRun(service, runId);
  if (run.actions[0].created === undefined) return { run, sent: undefined };
  const sent = await eventually(async () => {
    const found = await sentOf(service, runId);
    return ["complete", "error", "stopped"].includes(found.status) ? found : undefined;
  });
  return { run, sent };
}
