/** Passkeys of authenticators in software: kinds of keys, counts of uses, users who are not checked, challenges. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { systemClock } from "../../src/platform/clock.ts";
import { keys } from "../../src/store/keys.ts";
import { getPasskey, passkeyKey, putPasskey } from "../../src/store/records/passkeys.ts";
import { startService, TestClock } from "../data.ts";
import { Browser, loggedIn, textOf } from "../http/console/fixture.ts";
import { collectLog } from "../log_records.ts";
import { type AlgorithmName, type Authenticator, newAuthenticator } from "./authenticator.ts";

const MINUTE_MS = 60_000;

/**
 * Adds a passkey as the page does. Returns the answer to its form.
 *
 * @param asked the browser that gets the challenge
 */
async function add(
  browser: Browser,
  authenticator: Authenticator,
  use: Parameters<Authenticator["create"]>[1] = {},
  asked = browser,
) {
  const { options, challenge } = JSON.parse((await asked.get("access/passkeys/options")).text);
  return await browser.post("access/passkeys", {
    csrf: await browser.csrf(),
    name: "key",
    owner: "Ada",
    credential: authenticator.create(options, use),
    challenge,
  });
}

/** Begins a login. Returns the options of the ceremony. */
async function begin(browser: Browser): Promise<{ challenge: string; userVerification?: string }> {
  return JSON.parse((await browser.get("login/passkey")).text).options;
}

/** Logs in with a passkey, in a browser that has no session. */
async function logIn(
  browser: Browser,
  authenticator: Authenticator,
  use: Parameters<Authenticator["get"]>[1] = {},
) {
  const credential = await authenticator.get(await begin(browser), use);
  return await browser.post("login/passkey", { credential, to: "" });
}

Deno.test("passkeys: keys, counts, users that are not checked, and challenges", async (t) => {
  const clock = new TestClock(systemClock.now());
  await using service = await startService({ clock });
  const { store } = service.service.parts;
  const url = service.url.replace("127.0.0.1", "localhost");
  service.service.parts.baseUrl = url;
  const operator = await loggedIn({ ...service, url });
  const fresh = () => new Browser(url);
  const isIn = async (browser: Browser) => (await browser.get("deliveries")).status === 200;
  const audit = async () => (await service.api("GET", "audit/?limit=1")).body.results[0];

  for (const [algorithm, bytes] of Object.entries<number>({ "ES256": 77, "ML-DSA-44": 1_322 })) {
    await t.step(`${algorithm}: added, and used`, async () => {
      // Its keys are those of the type.
      const authenticator = await newAuthenticator(url, algorithm as AlgorithmName);
      assertEquals(authenticator.keyBytes, bytes);
      const added = await add(operator, authenticator);
      assertEquals(added.status, 303, textOf(added));
      const browser = fresh();
      const { status, text } = await logIn(browser, authenticator);
      assertEquals([status, await isIn(browser)], [303, true], text);
      const forger = await newAuthenticator(url, algorithm as AlgorithmName);
      const other = fresh();
      const forged = JSON.parse(await forger.get(await begin(other)));
      const { id } = authenticator;
      const credential = JSON.stringify({ ...forged, id, rawId: id });
      assertEquals((await other.post("login/passkey", { credential, to: "" })).status, 401);
    });
  }

  await t.step("the log names who has logged in, and has no hash of the token", async () => {
    const authenticator = await newAuthenticator(url);
    assertEquals((await add(operator, authenticator)).status, 303);
    await using log = await collectLog("info");
    await logIn(fresh(), authenticator);
    const [{ properties } = { properties: {} }] = log.records.filter(({ message }) =>
      message.join("").includes("logged in with the passkey")
    );
    assertEquals(properties, { owner: "Ada", name: "key" });
  });

  await t.step("a user who was not checked adds none, and does not get in", async () => {
    const authenticator = await newAuthenticator(url);
    const added = await add(operator, authenticator, { isVerified: false });
    assertEquals(added.status, 422);
    assertMatch(textOf(added), /cannot be accepted/);
    assertEquals(await getPasskey(store, passkeyKey(authenticator.id)), undefined);
    await add(operator, authenticator);
    const browser = fresh();
    const refused = await logIn(browser, authenticator, { isVerified: false });
    assertEquals([refused.status, await isIn(browser)], [401, false]);
    assertEquals((await logIn(browser, authenticator)).status, 303);
    assertEquals((await begin(browser)).userVerification, "required");
  });

  await t.step(
    "a challenge for a new one is of its session, and a session of its grounds",
    async () => {
      const { body } = await service.api("POST", "tokens/", { name: "bob" });
      const other = await loggedIn({ ...service, url }, body.token);
      const authenticator = await newAuthenticator(url);
      const added = await add(operator, authenticator, {}, other);
      assertEquals(added.status, 422);
      assertMatch(textOf(added), /in another session: try again/);
      assertEquals((await add(operator, authenticator)).status, 303);
      const browser = fresh();
      assertEquals((await logIn(browser, authenticator)).status, 303);
      assert(await isIn(browser));
      const stored = await getPasskey(store, passkeyKey(authenticator.id));
      assert(stored);
      await putPasskey(store, { ...stored, token_hash: "another" });
      assertEquals(await isIn(browser), false);
    },
  );

  await t.step(
    "a count that goes back, or stays, is refused, and is in the audit log",
    async () => {
      const authenticator = await newAuthenticator(url);
      await add(operator, authenticator, { counter: 3 });
      assertEquals((await logIn(fresh(), authenticator, { counter: 7 })).status, 303);
      for (const counter of [7, 6, 0]) {
        const browser = fresh();
        const refused = await logIn(browser, authenticator, { counter });
        assertEquals([refused.status, await isIn(browser)], [401, false]);
        assertMatch(textOf(refused), /it may have been copied: remove it, and add another one/);
        const { operation, path, author, remote_ip, changes } = await audit();
        assertEquals([operation, author.name, remote_ip], [
          "refuseCopiedPasskey",
          "Ada (HOOKLAUNCH_ADMIN_TOKEN)",
          "127.0.0.1",
        ]);
        assertMatch(path, new RegExp(`^/passkeys/${passkeyKey(authenticator.id).slice(0, 16)}/$`));
        assertEquals(
          Object.fromEntries(changes.map((each: Record<string, unknown>) => [
            each.pointer,
            each.after,
          ])),
          { "/name": "key", "/owner": "Ada", "/counter": counter, "/expected": 8 },
        );
      }
      const stored = await getPasskey(store, passkeyKey(authenticator.id));
      assertEquals(stored?.counter, 7);
      // The one that counts on goes on.
      assertEquals((await logIn(fresh(), authenticator, { counter: 8 })).status, 303);
    },
  );

  await t.step(
    "a count without a signature that fits is nobody's: nothing is in the log",
    async () => {
      const authenticator = await newAuthenticator(url);
      await add(operator, authenticator, { counter: 3 });
      const { id: before } = await audit();
      const browser = fresh();
      const answer = JSON.parse(await authenticator.get(await begin(browser), { counter: 1 }));
      const { signature } = answer.response;
      answer.response.signature = `${signature.slice(0, -8)}AAAAAAAA`;
      const refused = await browser.post("login/passkey", {
        credential: JSON.stringify(answer),
        to: "",
      });
      assertEquals(refused.status, 401);
      assertMatch(textOf(refused), /cannot be accepted/);
      assertEquals((await audit()).id, before);
    },
  );

  await t.step("a challenge is of its browser, serves once, and for ten minutes", async () => {
    const authenticator = await newAuthenticator(url);
    await add(operator, authenticator);
    const [one, other] = [fresh(), fresh()];
    const credential = await authenticator.get(await begin(one));
    await begin(other);
    const cookies = new Map(one.cookies);
    assertEquals((await other.post("login/passkey", { credential, to: "" })).status, 401);
    assertEquals((await one.post("login/passkey", { credential, to: "" })).status, 303);
    const again = fresh();
    for (const [name, value] of cookies) again.cookies.set(name, value);
    const second = await again.post("login/passkey", { credential, to: "" });
    assertEquals(second.status, 401);
    assertMatch(textOf(second), /has served once already/);
    const late = fresh();
    const lateCredential = await authenticator.get(await begin(late));
    clock.time_ms += 10 * MINUTE_MS;
    const { status } = await late.post("login/passkey", { credential: lateCredential, to: "" });
    assertEquals(status, 401);
    assert(await isIn(one));
    clock.time_ms += MINUTE_MS;
    assertEquals((await logIn(fresh(), authenticator)).status, 303);
    assertEquals((await getPasskey(store, passkeyKey(authenticator.id)))?.used.length, 1);
  });
  await t.step("a service that is full of passkeys of others says so", async () => {
    const key = { public_key: "", counter: 0, transports: [], used: [] };
    const passkeys = Array.from({ length: 1_000 }, (_, index) => {
      const named = { credential: `key ${index}`, name: "key", owner: "Bob", token_hash: "other" };
      const value = { ...key, ...named, created_at: new Date(0).toISOString() };
      return { key: keys.passkey(passkeyKey(named.credential)), value };
    });
    await store.committer.writeInParts(passkeys);
    const added = await add(operator, await newAuthenticator(url));
    assertMatch(textOf(added), /the service has 1000 already/);
  });
});

Deno.test("passkeys: at an IP address there are none, and nothing fails", async () => {
  await using service = await startService();
  await using log = await collectLog("error");
  const operator = await loggedIn(service);
  for (const browser of [operator, new Browser(service.url)]) {
    const { status, text } = await browser.get("login/passkey");
    assertEquals(status, 404);
    assertMatch(text, /There are no passkeys at an IP address/);
  }
  assertEquals((await operator.get("access/passkeys/options")).status, 409);
  assertEquals(log.lines(), []);
});
