/** Logging in to the console: sessions, the cookie, forms from elsewhere, wrong tokens. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { hash } from "node:crypto";
import { systemClock } from "../../../src/platform/clock.ts";
import { keys } from "../../../src/store/keys.ts";
import { putPasskey } from "../../../src/store/records/passkeys.ts";
import { createSession, listSessions } from "../../../src/store/records/sessions.ts";
import { createToken, tokenHash } from "../../../src/store/records/tokens.ts";
import { ADMIN_TOKEN, startService, TestClock } from "../../data.ts";
import { browserOf, storePerson } from "../../logins/person.ts";
import { Browser, loggedIn, textOf } from "./fixture.ts";

const DAY_MS = 24 * 60 * 60_000;

Deno.test("without a session every page leads to the login, and back to the same address", async () => {
  await using service = await startService();
  const browser = new Browser(service.url);
  const first = await browser.get("deliveries?outcome=refused");
  assertEquals(first.status, 303);
  const login = first.headers.get("location") ?? "";
  assertEquals(login, "/login?to=deliveries%3Foutcome%3Drefused");
  const { text } = await browser.get(login.slice(1));
  // It names all places where the first token may be.
  for (const place of ["HOOKLAUNCH_ADMIN_TOKEN", "admin.token"]) assertStringIncludes(text, place);
  assertStringIncludes(text, 'name="to" value="deliveries?outcome=refused"');
  const { headers } = await browser.post("login", {
    token: ADMIN_TOKEN,
    to: "deliveries?outcome=refused",
  });
  assertEquals(headers.get("location"), "/deliveries?outcome=refused");
  assertEquals((await browser.get("deliveries?outcome=refused")).status, 200);
});

Deno.test("the page of tokens names the one in the variable of the service", async () => {
  await using service = await startService();
  await service.api("POST", "tokens/", { name: "ci" });
  const seen = textOf(await (await loggedIn(service)).get("access"));
  assertMatch(seen, /HOOKLAUNCH_ADMIN_TOKEN admin .* In a variable of the service.* ci admin/);
});

Deno.test("the page of access lists all tokens, sessions and passkeys", async () => {
  await using service = await startService();
  const { store } = service.service.parts;
  const [created_at, expires_at] = [0, DAY_MS].map((after) =>
    new Date(Date.now() + after).toISOString()
  );
  assert(created_at && expires_at);
  const token_hash = tokenHash(ADMIN_TOKEN);
  const owned = { token_hash, created_at, owner: "Ada" };
  const key = { public_key: "", counter: 0, transports: [], used: [] };
  for (let place = 0; place < 205; place++) {
    await createToken(store, { name: `token-${place}`, created_at });
    await putPasskey(store, { ...owned, ...key, credential: `key ${place}`, name: `key-${place}` });
    const from = { remote_ip: `192.0.2.${place}`, user_agent: "" };
    await createSession(store, { token_hash, created_at, expires_at, ...from });
  }
  const browser = await loggedIn(service);
  const { text } = await browser.get("access?sessions=all");
  for (const listed of [/<td>token-\d+</g, /<td>key-\d+</g, /<td>192\.0\.2\.\d+</g]) {
    assertEquals(new Set(text.match(listed)).size, 205, String(listed));
  }
  assertStringIncludes((await browser.get("access")).text, "(this one)");
});

Deno.test("a program that logs in again and again ends its own sessions, and not those of people", async () => {
  await using service = await startService();
  const { store } = service.service.parts;
  const ada = await browserOf(service, await storePerson(service));
  // Its sessions are newer than hers: the oldest would end first.
  const later = (after_ms: number) => new Date(Date.now() + after_ms).toISOString();
  const made = {
    token_hash: tokenHash(ADMIN_TOKEN),
    created_at: later(1_000),
    expires_at: later(DAY_MS),
    remote_ip: "192.0.2.7",
    user_agent: "curl",
  };
  const sessions = Array.from({ length: 999 }, (_, index) => {
    const hashed = hash("sha256", String(index));
    return { key: keys.session(hashed), value: { id: hashed.slice(0, 16), ...made } };
  });
  await store.committer.writeInParts(sessions);
  await createSession(store, { ...made, created_at: later(2_000) });
  assertEquals((await ada.get("triggers")).status, 200);
  assertEquals((await listSessions(store)).length, 1_000);
});

Deno.test("a stream ends once another role is all that its person has", async (t) => {
  await using service = await startService();
  const { url } = await service.trigger();
  const streams: Record<string, (person: string) => Promise<Request>> = {
    async "in the console"(person) {
      const { cookies } = await browserOf(service, person);
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      return new Request(`${service.url}/deliveries/events`, { headers: { cookie } });
    },
    async "of a command line that the person has logged in"(person) {
      const created_at = new Date().toISOString();
      const granted_by = { person };
      const made = { name: "ada", scope: "admin", created_at, granted_by } as const;
      const token = await createToken(service.service.parts.store, made);
      const headers = { authorization: `Bearer ${token}`, accept: "text/event-stream" };
      return new Request(`${service.url}/api/v0/deliveries/?follow=true`, { headers });
    },
  };
  for (const [name, stream] of Object.entries(streams)) {
    await t.step(name, async () => {
      const request = await stream(await storePerson(service));
      const { body } = await fetch(request, { signal: AbortSignal.timeout(20_000) });
      await storePerson(service, { triggers: ["another"] });
      const answer = await fetch(url, { method: "POST" });
      assertEquals(answer.status, 200, await answer.text());
      assertEquals(await new Response(body).text(), "retry: 1000\n\n");
    });
  }
});

Deno.test("the login leads nowhere else", async (t) => {
  await using service = await startService();
  const elsewhere = [
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "javascript:alert(1)",
    "http:evil",
    ".//evil.example/x",
    "//console//evil.example",
    "..//evil.example",
    "./\t/evil.example",
  ];
  for (const to of elsewhere) {
    await t.step(to, async () => {
      const { headers } = await new Browser(service.url).post("login", { token: ADMIN_TOKEN, to });
      assertEquals(headers.get("location"), "/");
      const open = await loggedIn(service);
      const again = await open.get(`login?${new URLSearchParams({ to })}`);
      assertEquals(again.headers.get("location"), "/");
    });
  }
});

Deno.test("over plain HTTP the cookie has the port in its name, and no script reads it", async () => {
  await using service = await startService();
  const { headers } = await new Browser(service.url).post("login", { token: ADMIN_TOKEN });
  const [cookie = ""] = headers.getSetCookie();
  const { port } = new URL(service.url);
  assertMatch(cookie, new RegExp(`^hooklaunch_session_${port}=[0-9a-f]{64}; `));
  for (const part of ["HttpOnly", "SameSite=Lax", "Path=/"]) assertStringIncludes(cookie, part);
  assert(!cookie.includes("Secure") && !cookie.includes("Domain"), cookie);
});

Deno.test("over HTTPS the cookie is a __Host- cookie, and the form must come from this address", async () => {
  await using service = await startService({ settings: { trustedProxies: ["127.0.0.1"] } });
  const browser = new Browser(service.url);
  service.service.parts.baseUrl = "https://hooks.example/base";
  const headers = { "x-forwarded-proto": "https" };
  const sent = { origin: "https://hooks.example", headers };
  const answer = await browser.post("login", { token: ADMIN_TOKEN, to: "deliveries" }, sent);
  assertEquals(answer.headers.get("location"), "/base/deliveries");
  const [cookie = ""] = answer.headers.getSetCookie();
  assertMatch(cookie, /^__Host-hooklaunch_session=/);
  for (const part of ["HttpOnly", "Secure", "Path=/"]) assertStringIncludes(cookie, part);
  const page = await browser.get("deliveries", headers);
  assertStringIncludes(page.text, '<base href="/base/">');
  const others = [
    "http://hooks.example",
    "https://hooks.example:444",
    "https://evil.example",
    "null",
  ];
  for (const origin of [...others, null]) {
    const refused = await browser.post("logout", {}, { origin, headers });
    assertEquals(refused.status, 403, String(origin));
  }
});

Deno.test("a form is refused that comes from elsewhere, or belongs to another session", async () => {
  await using service = await startService();
  const [mine, other] = [await loggedIn(service), await loggedIn(service)];
  const fields = { csrf: await mine.csrf(), name: "ci", scope: "read" };
  assertNotEquals(fields.csrf, await other.csrf());
  for (const origin of ["http://evil.example", "null", null]) {
    const { status, text } = await mine.post("access/tokens", fields, { origin });
    assertEquals(status, 403, text);
  }
  assertEquals((await other.post("access/tokens", fields)).status, 403);
  assertEquals((await mine.post("access/tokens", { ...fields, csrf: "" })).status, 403);
  const tokens = await service.api("GET", "tokens/");
  assertEquals(tokens.body.results, []);
});

Deno.test("who has no token logs in elsewhere, and sends what was typed", async () => {
  await using service = await startService();
  const browser = new Browser(service.url);
  const sent = await browser.post("access/tokens", { name: `typed "before"`, scope: "read" });
  assertEquals(sent.status, 401);
  const [form = ""] = /<form method="post" action="access\/tokens".*?<\/form>/s.exec(sent.text) ??
    [];
  assertStringIncludes(form, 'name="name" value="typed &quot;before&quot;"');
  assertStringIncludes(form, 'href="login" target="_blank"');
  assert(!form.includes('name="csrf"'), form);
  const refused = await browser.post("login", {
    token: "wrong",
    kept_address: "access/tokens",
    kept_form: JSON.stringify([["name", "typed"]]),
  });
  assertMatch(refused.text, /<form method="post" action="access\/tokens"/);
});

Deno.test("wrong tokens slow down by address, together with those of the API", async () => {
  await using service = await startService();
  const browser = new Browser(service.url);
  const wrong = async () => await browser.post("login", { token: "wrong" });
  const first = await wrong();
  assertEquals(first.status, 401);
  assertStringIncludes(first.text, "This token opens nothing");
  for (let sent = 1; sent < 30; sent++) await wrong();
  const refused = await browser.post("login", { token: ADMIN_TOKEN });
  assertEquals([refused.status, browser.cookies.size], [429, 0]);
  assertMatch(refused.headers.get("retry-after") ?? "", /^\d+$/);
  assertEquals((await service.api("GET", "triggers/")).status, 429);
});

Deno.test("a session ends by itself, by its token's end, by an operator, and by logging out", async (t) => {
  const clock = new TestClock(systemClock.now());
  await using service = await startService({ clock });
  const token = async (settings: unknown) => (await service.api("POST", "tokens/", settings)).body;
  const isOut = async (browser: Browser) => (await browser.get("deliveries")).status === 303;
  await t.step("logging out", async () => {
    const browser = await loggedIn(service);
    const before = new Map(browser.cookies);
    assertEquals((await browser.post("logout", {})).headers.get("location"), "/login");
    assertEquals(browser.cookies.size, 0);
    for (const [name, value] of before) browser.cookies.set(name, value);
    assert(await isOut(browser), "the secret opens nothing any more");
  });
  await t.step("its token is revoked", async () => {
    const made = await token({ name: "a" });
    const browser = await loggedIn(service, made.token);
    assert(!await isOut(browser));
    await service.api("DELETE", `tokens/${made.id}/`);
    assert(await isOut(browser));
  });
  await t.step("its token expires", async () => {
    const expires_at = new Date(clock.now() + DAY_MS).toISOString();
    const browser = await loggedIn(service, (await token({ name: "b", expires_at })).token);
    assert(!await isOut(browser));
    clock.time_ms += DAY_MS;
    assert(await isOut(browser));
  });
  await t.step("an operator ends it", async () => {
    const made = await token({ name: "c" });
    const browser = await loggedIn(service, made.token);
    const { body } = await service.api("GET", "sessions/");
    const listed = body.results.find((each: { token: string }) => each.token === "c");
    assertEquals(Object.keys(listed), [
      "id",
      "created_at",
      "expires_at",
      "remote_ip",
      "user_agent",
      "token",
    ]);
    assertEquals((await service.api("DELETE", `sessions/${listed.id}/`)).status, 204);
    assert(await isOut(browser));
    assertEquals((await service.api("DELETE", `sessions/${listed.id}/`)).status, 404);
  });
  await t.step(
    "of many the newest are listed, and the others when they are asked for",
    async () => {
      const browser = await loggedIn(service);
      for (let count = 0; count < 25; count++) await loggedIn(service);
      const listed = ({ text }: { text: string }) =>
        text.match(/access\/sessions\/\w+\/end/g)?.length;
      const page = await browser.get("access");
      assertEquals(listed(page), 25);
      const [, more = 0] = /access\?sessions=all#sessions" rel="next">(\d+) more/.exec(page.text) ??
        [];
      assertEquals(listed(await browser.get("access?sessions=all")), 25 + Number(more));
      assert(Number(more) > 0, page.text);
    },
  );
  await t.step("after a week", async () => {
    const browser = await loggedIn(service);
    clock.time_ms += 7 * DAY_MS - 1_000;
    assert(!await isOut(browser));
    clock.time_ms += 1_000;
    assert(await isOut(browser));
    assertEquals((await service.api("GET", "sessions/")).body.results, []);
  });
});

Deno.test("a form that an expired session sends is kept through the login", async () => {
  await using service = await startService();
  const { body: { id, token } } = await service.api("POST", "tokens/", { name: "short" });
  const browser = await loggedIn(service, token);
  const csrf = await browser.csrf();
  await service.api("DELETE", `tokens/${id}/`);
  const typed = '"<b>&typed';
  const fields = { csrf, name: typed, scope: "read" };
  const expired = await browser.post("access/tokens", fields);
  assertEquals(expired.status, 401);
  const kept = (name: string) =>
    new RegExp(`name="${name}" value="([^"]*)"`).exec(expired.text)?.[1]
      ?.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">")
      .replaceAll("&amp;", "&") ?? "";
  assertEquals(JSON.parse(kept("kept_form")), [["name", typed], ["scope", "read"]]);
  const again = await browser.post("login", {
    token: ADMIN_TOKEN,
    to: "",
    kept_address: kept("kept_address"),
    kept_form: kept("kept_form"),
  });
  assertEquals(again.status, 200);
  assertStringIncludes(again.text, 'action="access/tokens"');
  assertStringIncludes(again.text, 'name="name" value="&quot;&lt;b&gt;&amp;typed"');
  const own = /name="csrf" value="([^"]+)"/.exec(again.text)?.[1] ?? "";
  assertEquals(own, await browser.csrf());
});

Deno.test("nothing that a page shows runs, and nothing that is stored opens a session", async () => {
  await using service = await startService();
  const browser = await loggedIn(service);
  const { headers, text } = await browser.get("deliveries");
  const policy = headers.get("content-security-policy") ?? "";
  const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1];
  for (
    const part of [
      "default-src 'none'",
      "frame-ancestors 'none'",
      "form-action 'self'",
      "require-trusted-types-for 'script'",
    ]
  ) assertStringIncludes(policy, part);
  assert(!policy.includes("unsafe"), policy);
  assertStringIncludes(text, `<script nonce="${nonce}" src="assets/`);
  const again = await browser.get("deliveries");
  assertNotEquals(again.headers.get("content-security-policy"), policy, "another nonce each time");
  const [, asset = ""] = /src="(assets\/[^"]+)"/.exec(text) ?? [];
  const script = await new Browser(service.url).get(asset);
  assertEquals(script.headers.get("cache-control"), "public, max-age=31536000, immutable");
  assert(script.text.length < 25_000, "the script");
  const [, style = ""] = /href="(assets\/[^"]+\.css)"/.exec(text) ?? [];
  assert((await browser.get(style)).text.length < 15_000, "the stylesheet");
  for (const [, secret] of browser.cookies) {
    for await (const { key, value } of service.service.parts.store.kv.list({ prefix: [] })) {
      assert(
        !JSON.stringify([key, value], (_, each) => typeof each === "bigint" ? String(each) : each)
          .includes(secret),
        String(key),
      );
    }
  }
});
