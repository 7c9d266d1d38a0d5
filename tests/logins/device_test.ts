/** Logins of command lines: the code, its confirmation in the console, the token, and its end. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { beginDeviceLogin, findDeviceLogin } from "../../src/logins/device.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { UnavailableError } from "../../src/platform/errors.ts";
import { listDeviceLogins } from "../../src/store/records/device_logins.ts";
import { getPerson, putPerson, removePerson } from "../../src/store/records/people.ts";
import { startService, TestClock, type TestService } from "../data.ts";
import { Browser, loggedIn, textOf } from "../http/console/fixture.ts";
import { sharedStore, standIn } from "../store/fixture.ts";
import { browserOf, storePerson } from "./person.ts";

const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code";
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

async function post({ url }: TestService, path: string, fields: Record<string, string>) {
  const answer = await fetch(`${url}/api/v0/login/${path}/`, {
    method: "POST",
    body: new URLSearchParams(fields),
  });
  return { status: answer.status, body: await answer.json() };
}

const begin = async (service: TestService, fields: Record<string, string> = {}) =>
  (await post(service, "device", { device: "workshop", ...fields })).body;

const fetchToken = async (service: TestService, { device_code }: { device_code: string }) =>
  await post(service, "token", { grant_type: GRANT_TYPE, device_code });

async function decide(browser: Browser, code: string, decision = "confirm") {
  return await browser.post("access/device", { csrf: await browser.csrf(), code, decision });
}

/** The status of a request with a token. */
async function statusOf({ url }: TestService, token: string, path: string, method = "GET") {
  const answer = await fetch(`${url}/api/v0/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(method === "GET" ? {} : { body: "{}" }),
  });
  await answer.body?.cancel();
  return answer.status;
}

Deno.test("a login of a command line is confirmed in the console", async (t) => {
  const clock = new TestClock(systemClock.now());
  await using service = await startService({ clock });
  const { store } = service.service.parts;
  const key = await storePerson(service);
  const ada = await browserOf(service, key);

  await t.step("from the code to the token, which is fetched once", async () => {
    const begun = await begin(service);
    assertMatch(begun.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    assertEquals(begun.verification_uri, `${service.url}/access/device`);
    assertEquals((await fetchToken(service, begun)).body, { error: "authorization_pending" });
    const page = await ada.get(`access/device?code=${begun.user_code.toLowerCase()}`);
    assertMatch(textOf(page), /Computer workshop Address 127\.0\.0\.1 .* with the scope admin/);
    assertEquals((await decide(ada, begun.user_code)).status, 303);
    assertEquals((await decide(ada, begun.user_code, "deny")).status, 404);
    const { body } = await fetchToken(service, begun);
    assertEquals([body.token_type, body.scope, body.name], ["Bearer", "admin", "ada@example.com"]);
    assertEquals(await statusOf(service, body.access_token, "triggers/"), 200);
    assertEquals((await fetchToken(service, begun)).body, { error: "expired_token" });
    assertEquals((await decide(ada, begun.user_code)).status, 404);
    const { body: { results: [entry] } } = await service.api("GET", "audit/?limit=1");
    assertEquals([entry.operation, entry.author.subject], ["confirmLogin", "ada"]);
  });

  await t.step("what the token does is what the person does", async () => {
    const token = await confirmed(service, ada);
    assertEquals(await statusOf(service, token, "tokens/", "POST"), 422);
    const made = await fetch(`${service.url}/api/v0/tokens/`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: "by-command" }),
    });
    assertEquals(made.status, 201);
    await made.body?.cancel();
    const { body: { results: [entry] } } = await service.api("GET", "audit/?limit=1");
    assertEquals([entry.author.name, entry.author.subject], ["ada@example.com", "ada"]);
  });

  await t.step("a lesser scope is asked for, a greater one is not given", async () => {
    const reader = await browserOf(
      service,
      await storePerson(service, { subject: "r", scope: "read" }),
    );
    for (
      const [browser, asked, given] of [[ada, "operate", "operate"], [
        reader,
        "admin",
        "read",
      ]] as const
    ) {
      const begun = await begin(service, { scope: asked });
      await decide(browser, begun.user_code);
      assertEquals((await fetchToken(service, begun)).body.scope, given);
    }
  });

  await t.step("a login on the same computer replaces the one before", async () => {
    const [first, second] = [await confirmed(service, ada), await confirmed(service, ada)];
    assertEquals(await statusOf(service, first, "triggers/"), 401);
    assertEquals(await statusOf(service, second, "triggers/"), 200);
  });

  await t.step("computers that tell no name are not taken for one", async () => {
    const [first, second] = [await confirmed(service, ada, ""), await confirmed(service, ada, " ")];
    assertEquals(await statusOf(service, first, "triggers/"), 200);
    assertEquals(await statusOf(service, second, "triggers/"), 200);
  });

  await t.step("it is refused, cancelled, or too old", async () => {
    const denied = await begin(service);
    await decide(ada, denied.user_code, "deny");
    assertEquals((await fetchToken(service, denied)).body, { error: "access_denied" });
    const late = await begin(service);
    clock.time_ms += 10 * MINUTE_MS;
    assertEquals((await fetchToken(service, late)).body, { error: "expired_token" });
    const page = await ada.get(`access/device?code=${late.user_code}`);
    assertEquals(page.status, 404);
    assertStringIncludes(page.text, "No login with this code waits");
    assertEquals((await fetchToken(service, { device_code: "guess" })).body, {
      error: "expired_token",
    });
    const ended = await begin(service);
    await decide(ada, ended.user_code);
    const person = await getPerson(store, key);
    assert(person);
    await removePerson(store, key);
    assertEquals((await fetchToken(service, ended)).body, { error: "access_denied" });
    const lowered = await begin(service);
    await putPerson(store, person);
    await decide(ada, lowered.user_code);
    await putPerson(store, { ...person, scope: "read" });
    assertEquals((await fetchToken(service, lowered)).body.scope, "read");
    await putPerson(store, person);
  });

  await t.step("the token allows less, and ends, with the login of the person", async () => {
    const token = await confirmed(service, ada);
    const person = await getPerson(store, key);
    assert(person);
    await putPerson(store, { ...person, scope: "read" });
    assertEquals(await statusOf(service, token, "triggers/"), 200);
    assertEquals(await statusOf(service, token, "tokens/"), 403);
    await putPerson(store, { ...person, expires_at: new Date(clock.now()).toISOString() });
    assertEquals(await statusOf(service, token, "triggers/"), 401);
    await putPerson(store, person);
    assertEquals(await statusOf(service, token, "tokens/"), 200);
  });

  await t.step("with the token that confirmed it, and after 30 days", async () => {
    const { body: made } = await service.api("POST", "tokens/", {
      name: "shared",
      scope: "operate",
    });
    const browser = await loggedIn(service, made.token);
    const token = await confirmed(service, browser);
    // A login that rests on a login rests on what that rests on.
    const inner = await confirmed(service, await loggedIn(service, token));
    assertEquals(await statusOf(service, inner, "triggers/"), 200);
    assertEquals(await statusOf(service, inner, "tokens/"), 403);
    const last = await confirmed(service, await loggedIn(service));
    await service.api("DELETE", `tokens/${made.id}/`);
    assertEquals(await statusOf(service, inner, "triggers/"), 401);
    assertEquals(await statusOf(service, last, "triggers/"), 200);
    clock.time_ms += 30 * DAY_MS - MINUTE_MS;
    assertEquals(await statusOf(service, last, "triggers/"), 200);
    clock.time_ms += MINUTE_MS;
    assertEquals(await statusOf(service, last, "triggers/"), 401);
    await service.service.cleanUp();
    const { body: { results } } = await service.api("GET", "tokens/");
    assertEquals(results.filter((each: { by_login?: true }) => each.by_login), []);
  });

  await t.step("it revokes itself, and nothing else", async () => {
    const token = await confirmed(service, await loggedIn(service));
    const { body: other } = await service.api("POST", "tokens/", { name: "other" });
    for (const each of [token, other.token, "guess"]) {
      assertEquals(await post(service, "revoke", { token: each }), { status: 200, body: {} });
    }
    assertEquals(await statusOf(service, token, "triggers/"), 401);
    assertEquals(await statusOf(service, other.token, "triggers/"), 200);
  });

  await t.step("a network begins so many a minute", async () => {
    clock.time_ms += MINUTE_MS;
    for (let index = 0; index < 30; index++) assert((await begin(service)).user_code);
    const refused = await fetch(`${service.url}/api/v0/login/device/`, {
      method: "POST",
      body: new URLSearchParams(),
    });
    await refused.body?.cancel();
    assertEquals(refused.status, 429);
    assertMatch(refused.headers.get("retry-after") ?? "", /^\d+$/);
  });
});

/** Begins and confirms a login, and returns its token. */
async function confirmed(
  service: TestService,
  browser: Browser,
  device = "workshop",
): Promise<string> {
  const begun = await begin(service, { device });
  assertEquals((await decide(browser, begun.user_code)).status, 303);
  return (await fetchToken(service, begun)).body.access_token;
}

Deno.test("no form of another page confirms a login", async () => {
  await using service = await startService();
  const browser = await loggedIn(service);
  const begun = await begin(service);
  const fields = { csrf: await browser.csrf(), code: begun.user_code, decision: "confirm" };
  const elsewhere = await browser.post("access/device", fields, { origin: "https://evil.example" });
  assertEquals(elsewhere.status, 403);
  assertEquals((await browser.post("access/device", { ...fields, csrf: "" })).status, 403);
  assertEquals((await fetchToken(service, begun)).body, { error: "authorization_pending" });
});

Deno.test("an instance beside the leader finds a login also while another one has expired", async () => {
  using open = await Deno.openKv(":memory:");
  // The test closes it, and not the stores.
  const kv = standIn(open, { close() {}, [Symbol.dispose]() {} });
  await using leader = await sharedStore(kv, systemClock);
  await using other = await sharedStore(kv, systemClock, { leads: false });
  const clock = new TestClock(systemClock.now());
  const asked = { device: "workshop", remote_ip: "192.0.2.7", scope: undefined };
  await beginDeviceLogin({ store: leader, clock }, asked);
  clock.time_ms += 9 * MINUTE_MS;
  const { user_code } = await beginDeviceLogin({ store: leader, clock }, asked);
  clock.time_ms += 2 * MINUTE_MS;
  const login = await findDeviceLogin({ store: other, clock }, user_code);
  assertEquals(login?.user_code, user_code);
  await beginDeviceLogin({ store: leader, clock }, asked);
  assertEquals((await listDeviceLogins(leader)).length, 2, "the one that has expired is removed");
});

Deno.test("one network keeps no other one from beginning logins", async () => {
  using open = await Deno.openKv(":memory:");
  // The test closes it, and not the store.
  const kv = standIn(open, { close() {}, [Symbol.dispose]() {} });
  await using store = await sharedStore(kv, systemClock);
  const parts = { store, clock: new TestClock(systemClock.now()) };
  const from = (remote_ip: string) =>
    beginDeviceLogin(parts, { device: "", remote_ip, scope: undefined });
  for (let index = 0; index < 50; index++) await from(`2001:db8::${index}`);
  const error = await assertRejects(() => from("2001:db8::ffff"), UnavailableError);
  assertMatch(error.message, /Too many logins wait/);
  await from("2001:db8:0:1::1");
  await from("192.0.2.7");
  // Nothing tells those apart whose address cannot be read.
  for (let index = 0; index <= 50; index++) await from("unknown");
});
