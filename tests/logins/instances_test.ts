/** Logins where several instances share a database: what begins at one goes on at another, and ends at all. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { hooklaunch } from "../commands/process.ts";
import { Timeline, TOKEN } from "../deploy/platform.ts";
import { Browser, type Seen, textOf } from "../http/console/fixture.ts";
import { has } from "../needs.ts";
import { denokv } from "../store/denokv.ts";
import { KV_TOKEN, RemoteKv } from "../store/kv_connect.ts";
import { eventually, temporaryFolder } from "../surroundings.ts";
import { newAuthenticator } from "./authenticator.ts";
import {
  beginLogin,
  CLIENT_ID,
  CLIENT_SECRET,
  comeBack,
  type Issuer,
  logInAtIssuer,
  startIssuer,
} from "./issuer.ts";

/** The address of all instances: a front leads each request to any of them. */
const URL_OF_ALL = "https://hooks.example.com";
const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code";

const pem = (name: string) => new URL(`../http/${name}.pem`, import.meta.url).pathname;

/** An instance, as a front that serves HTTPS reaches it. */
interface Instance {
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Stops it as an operator or a platform does. */
  stop(): Promise<unknown>;
}

/** A way to run instances. */
type StartInstances = (
  env: Record<string, string>,
  config: string,
  stack: AsyncDisposableStack,
) => Promise<[leader: Instance, follower: Instance]>;

const KINDS: Record<string, StartInstances> = {
  async "machines with a remote Deno KV"(env, config, stack) {
    const folder = stack.use(await temporaryFolder());
    const path = `${folder.path}/hooklaunch.yaml`;
    await Deno.writeTextFile(path, config);
    const kv = has("denokv")
      ? stack.use(await denokv(folder.path)).url
      : stack.use(new RemoteKv()).way().url;
    const start = async (name: string): Promise<Instance> => {
      const at = ["--kv", kv, "--port", "0", "--data", `${folder.path}/${name}`];
      const front = ["--public-url", URL_OF_ALL, "--trusted-proxy", "127.0.0.1"];
      const running = stack.use(hooklaunch(["serve", ...at, ...front, "--config", path], {
        ...env,
        HOOKLAUNCH_ADMIN_TOKEN: TOKEN,
        HOOKLAUNCH_SECRET_KEY: "00".repeat(32),
        [KV_TOKEN.name]: KV_TOKEN.value,
      }));
      await running.expect(/Leading: |Following: /);
      const [, port] = await running.expect(/Listening on 127\.0\.0\.1 port (\d+)/);
      return {
        fetch: (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init),
        async stop() {
          running.child.kill("SIGTERM");
          await running.end();
        },
      };
    };
    return [await start("first"), await start("second")];
  },
  async "instances of a platform"(env, config, stack) {
    const timeline = stack.use(
      new Timeline({
        ...env,
        HOOKLAUNCH_PUBLIC_URL: URL_OF_ALL,
        HOOKLAUNCH_CONFIG_YAML: config,
        HOOKLAUNCH_IDLE_SECONDS: "600",
      }),
    );
    const start = async (): Promise<Instance> => {
      const process = await timeline.start();
      await process.api("GET", "instances/");
      return { fetch: process.fetch, stop: () => process.stop() };
    };
    return [await start(), await start()];
  },
};

for (const [kind, start] of Object.entries(KINDS)) {
  Deno.test(`logins over several instances: ${kind}`, async (t) => {
    await using stack = new AsyncDisposableStack();
    const tls = {
      cert: await Deno.readTextFile(pem("localhost_cert")),
      key: await Deno.readTextFile(pem("localhost_key")),
    };
    const issuer = stack.use(await startIssuer(URL_OF_ALL, tls));
    issuer.people.ada = { email: "ada@example.com", email_verified: true };
    const env = { CLIENT_SECRET, DENO_CERT: pem("localhost_ca") };
    const [leader, follower] = await start(env, configOf(issuer), stack);
    await reached(async () => {
      const seen = await Promise.all(
        [leader, follower].map((each) => api(each, "GET", "instances/")),
      );
      return seen.every(({ body }) => body.results.length === 2) ? true : undefined;
    });
    const caCerts = [await Deno.readTextFile(pem("localhost_ca"))];
    const client = stack.use(Deno.createHttpClient({ caCerts }));
    const atIssuer = (address: string) => logInAtIssuer(address, "ada", client);
    const step = (name: string, act: () => Promise<void>) =>
      t.step(name, async () => {
        await reached(async () => {
          await act();
          return true;
        });
      });
    const ways = { "leader, follower": [leader, follower], "follower, leader": [follower, leader] };
    for (const [way, [one, other]] of Object.entries(ways)) {
      assert(one && other);
      await step(`${way}: a login at the issuer, and its logout`, async () => {
        const browser = new FrontBrowser(one);
        const back = await atIssuer(await beginLogin(browser, "access"));
        const { status, headers, text } = await comeBack(browser.to(other), back);
        assertEquals([status, headers.get("location")], [303, "/access"], text);
        await isIn(browser, [one, other]);
        assertMatch((await browser.to(one).get("access")).text, /ada@example\.com, scope: admin/);
        const ended = await browser.to(other).post("logout", { csrf: await browser.csrf() });
        assertMatch(textOf(ended), /log out/i);
        await isOut(browser, [one, other]);
      });
      await step(`${way}: an administrator ends a session`, async () => {
        const browser = new FrontBrowser(one);
        await comeBack(browser, await atIssuer(await beginLogin(browser)));
        await isIn(browser, [one, other]);
        const { body: { results } } = await api(other, "GET", "sessions/");
        for (const { id, token } of results) {
          if (token !== "ada@example.com") continue;
          assertEquals((await api(other, "DELETE", `sessions/${id}/`)).status, 204);
        }
        await isOut(browser, [one, other]);
      });
      await step(`${way}: a token opens a session, which ends with it`, async () => {
        const { body: { id, token } } = await api(one, "POST", "tokens/", {
          sent: { name: "shared" },
        });
        const browser = new FrontBrowser(other);
        await browser.logIn(token);
        await isIn(browser, [one, other]);
        assertEquals((await api(one, "DELETE", `tokens/${id}/`)).status, 204);
        await isOut(browser, [other, one]);
      });
      await step(`${way}: a passkey is added and used, and its removal counts`, async () => {
        const browser = new FrontBrowser(one);
        await browser.logIn(TOKEN);
        const passkey = await newAuthenticator(URL_OF_ALL);
        const making = JSON.parse((await browser.get("access/passkeys/options")).text);
        const key = crypto.randomUUID();
        const fields = { csrf: await browser.csrf(), name: key, owner: "Ada" };
        const { challenge } = making;
        const credential = passkey.create(making.options);
        const added = await browser.to(other)
          .post("access/passkeys", { ...fields, credential, challenge });
        assertEquals(added.status, 303, added.text);
        const again = new FrontBrowser(other);
        const begun = JSON.parse((await again.get("login/passkey")).text);
        const sent = { credential: await passkey.get(begun.options), to: "" };
        const cookies = new Map(again.cookies);
        assertEquals((await again.to(one).post("login/passkey", sent)).status, 303);
        await isIn(again, [one, other]);
        const replayed = new FrontBrowser(other, cookies);
        assertMatch(textOf(await replayed.post("login/passkey", sent)), /has served once already/);
        const { body: { results } } = await api(other, "GET", "passkeys/");
        const { id } = results.find(({ name }: { name: string }) => name === key);
        assertEquals((await api(other, "DELETE", `passkeys/${id}/`)).status, 204);
        await isOut(again, [one, other]);
      });
      await step(`${way}: the login of a command line, and its end`, async () => {
        const { device_code, user_code } = await form(one, "device", { device: "desk" });
        const browser = new FrontBrowser(other);
        await browser.logIn(TOKEN);
        const decided = { csrf: await browser.csrf(), code: user_code, decision: "confirm" };
        assertEquals((await browser.post("access/device", decided)).status, 303);
        const asked = { grant_type: GRANT_TYPE, device_code };
        const { access_token } = await form(one, "token", asked);
        assertEquals((await form(other, "token", asked)).error, "expired_token");
        const uses = async () => {
          const answers = await Promise.all(
            [one, other].map((each) => api(each, "GET", "triggers/", { token: access_token })),
          );
          return answers.map(({ status }) => status);
        };
        assertEquals(await uses(), [200, 200]);
        await form(other, "revoke", { token: access_token });
        assertEquals(await uses(), [401, 401]);
      });
    }

    await t.step("the leader stops between the beginning and the return", async () => {
      const before = new FrontBrowser(leader);
      await before.logIn(TOKEN);
      const passkey = await newAuthenticator(URL_OF_ALL);
      const making = JSON.parse((await before.get("access/passkeys/options")).text);
      const browser = new FrontBrowser(leader);
      const back = await atIssuer(await beginLogin(browser, "access"));
      await leader.stop();
      // The next one leads: nothing that serves once is sent before.
      await reached(() => api(follower, "GET", "service/"));
      const returned = await comeBack(browser.to(follower), back);
      const { status, headers, text } = returned;
      assertEquals([status, headers.get("location")], [303, "/access"], text);
      await isIn(browser, [follower]);
      await isIn(before, [follower]);
      const added = await before.post("access/passkeys", {
        csrf: await before.csrf(),
        name: "key",
        owner: "Ada",
        credential: passkey.create(making.options),
        challenge: making.challenge,
      });
      assertEquals(added.status, 303, added.text);
    });
  });
}

function configOf({ url }: Issuer): string {
  return JSON.stringify({
    oidc: {
      issuer: url,
      client_id: CLIENT_ID,
      client_secret: "{env:CLIENT_SECRET}",
      name: "Example",
      roles: [{ when: "claims.email_verified", scope: "admin" }],
    },
  });
}

/** A browser whose requests a front leads to one instance or the other. */
class FrontBrowser extends Browser {
  #at: Instance;

  constructor(at: Instance, cookies: ReadonlyMap<string, string> = new Map()) {
    super(URL_OF_ALL, async (url, init) => {
      const { pathname, search } = new URL(url);
      return await ask(this.#at, pathname + search, init);
    });
    this.#at = at;
    for (const [name, value] of cookies) this.cookies.set(name, value);
  }

  /** Leads its requests to another instance from now on. */
  to(at: Instance): this {
    this.#at = at;
    return this;
  }
}

/** An instance did not reach the one that leads: on a busy machine that may be silent for seconds. */
class UnreachedError extends Error {}

/** Does something, and again from its beginning where an instance did not reach the one that leads. */
function reached<T>(act: () => Promise<T | undefined>): Promise<T> {
  return eventually(() =>
    act().catch((error) => {
      if (error instanceof UnreachedError) return undefined;
      throw error;
    }), { what: "an instance that leads" });
}

/**
 * Asks an instance as a front that serves HTTPS does.
 *
 * @throws {UnreachedError} where it cannot reach the one that leads
 */
async function ask(instance: Instance, path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("x-forwarded-proto", "https");
  headers.set("x-forwarded-for", "192.0.2.7");
  const answer = await instance.fetch(path, { redirect: "manual", ...init, headers });
  if (answer.status !== 503 && answer.status !== 504) return answer;
  throw new UnreachedError(await answer.text());
}

async function isIn(browser: FrontBrowser, instances: readonly Instance[]): Promise<void> {
  assertEquals(await statuses(browser, instances), instances.map(() => 200));
}

/** Asserts that no instance shows a page: each leads to the login. */
async function isOut(browser: FrontBrowser, instances: readonly Instance[]): Promise<void> {
  assertEquals(await statuses(browser, instances), instances.map(() => 303));
}

async function statuses(browser: FrontBrowser, instances: readonly Instance[]) {
  const seen: Seen[] = [];
  for (const each of instances) seen.push(await browser.to(each).get("triggers"));
  return seen.map(({ status }) => status);
}

async function form(
  instance: Instance,
  path: string,
  fields: Record<string, string>,
): Promise<{ device_code: string; user_code: string; access_token: string; error?: string }> {
  const init = { method: "POST", body: new URLSearchParams(fields) };
  return await (await ask(instance, `/api/v0/login/${path}/`, init)).json();
}

async function api(
  instance: Instance,
  method: string,
  path: string,
  { sent, token = TOKEN }: { sent?: object; token?: string } = {},
) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const init = { method, headers, ...(sent && { body: JSON.stringify(sent) }) };
  const answer = await ask(instance, `/api/v0/${path}`, init);
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
}
