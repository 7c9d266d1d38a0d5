/** Logins at a real identity provider: people, roles, their end, and each way in which a login fails. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { applyText } from "../../src/config/apply_text.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { startService, TestClock, type TestService } from "../data.ts";
import { Browser, textOf } from "../http/console/fixture.ts";
import {
  beginLogin,
  CLIENT_ID,
  CLIENT_SECRET,
  comeBack,
  type Issuer,
  logIn,
  logInAtIssuer,
  startIssuer,
} from "./issuer.ts";

const HOUR_MS = 60 * 60_000;
const ROLES = [
  { when: "'ops' in claims.groups", scope: "admin" },
  { when: "'labels' in claims.groups", scope: "operate", triggers: ["mine"] },
  { when: "claims.email.endsWith('@example.com') && claims.email_verified", scope: "read" },
];

/** Applies a configuration file as a start of the service does. */
async function configure({ service }: TestService, oidc: unknown): Promise<void> {
  await Array.fromAsync(applyText(JSON.stringify({ oidc }), "hooklaunch.yaml", service.parts));
}

/** A service and its issuer. */
async function startBoth(options: Parameters<typeof startService>[0] = {}) {
  const env = { CLIENT_SECRET, ...options.env };
  const service = await startService({ ...options, env });
  const issuer = await startIssuer(service.url);
  const settings = (others: object = {}) => ({
    issuer: issuer.url,
    client_id: CLIENT_ID,
    client_secret: "{env:CLIENT_SECRET}",
    name: "Example",
    roles: ROLES,
    ...others,
  });
  await configure(service, settings());
  return {
    service,
    issuer,
    settings,
    async [Symbol.asyncDispose]() {
      await issuer[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a person logs in at the issuer, with the first role that fits", async (t) => {
  const clock = new TestClock(systemClock.now());
  await using both = await startBoth({ clock });
  const { service, issuer } = both;
  await service.trigger({ name: "mine" });
  Object.assign(issuer.people, {
    ada: { email: "ada@example.com", email_verified: true, groups: ["ops", "labels"] },
    bob: { email: "bob@example.com", email_verified: false, groups: ["labels"] },
    eve: { email: "eve@example.com", email_verified: true },
    mallory: { email: "mallory@example.com", email_verified: false },
  });
  await t.step("the whole way, to the page that was asked for", async () => {
    const browser = new Browser(service.url);
    const start = new URL(await beginLogin(browser, "access"));
    const { code_challenge_method, state, nonce, code_challenge, scope } = Object.fromEntries(
      start.searchParams,
    );
    assertEquals([code_challenge_method, scope], ["S256", "openid profile email"]);
    for (const random of [state, nonce, code_challenge]) assertMatch(random ?? "", /^[\w-]{43}$/);
    const { headers, status } = await comeBack(browser, await logInAtIssuer(start.href, "ada"));
    assertEquals([status, headers.get("location")], [303, "/access"]);
    assertMatch(headers.get("set-cookie") ?? "", /hooklaunch_session_\d+=[0-9a-f]{64}; .*HttpOnly/);
    assert(![...browser.cookies.keys()].some((name) => name.includes("login")), "state is used up");
    const page = await browser.get("access");
    assertEquals(page.status, 200);
    assertStringIncludes(page.text, "ada@example.com, scope: admin");
  });
  await t.step("an act of a person is that of a person in the audit log", async () => {
    const browser = new Browser(service.url);
    await logIn(browser, "ada");
    const sent = { csrf: await browser.csrf(), name: "ci", scope: "read" };
    assertEquals((await browser.post("access/tokens", sent)).status, 200);
    const { body: { results: [entry] } } = await service.api("GET", "audit/?limit=1");
    assertEquals([entry.operation, entry.author.name], ["createToken", "ada@example.com"]);
    assertEquals([entry.author.issuer, entry.author.subject], [issuer.url, "ada"]);
  });
  await t.step("limits of a role hold for the person", async () => {
    const browser = new Browser(service.url);
    await logIn(browser, "bob");
    const { text } = await browser.get("triggers");
    assertStringIncludes(text, "mine");
    assertStringIncludes(text, "bob, scope: operate");
    assertEquals((await browser.get("access")).status, 403);
    assertEquals((await browser.get("projects/files")).status, 403);
  });
  await t.step(
    "without a role there is no access, and the page names the claims alone",
    async () => {
      const browser = new Browser(service.url);
      const { status, text } = await logIn(browser, "mallory");
      assertEquals([status, browser.cookies.size], [403, 0]);
      assertMatch(text, /no role of this service is for you/);
      assertMatch(text, /email, email_verified/);
      assert(!text.includes("mallory"), text);
    },
  );
  await t.step("a login looks at the roles again, for all sessions of the person", async () => {
    const before = new Browser(service.url);
    await logIn(before, "ada");
    issuer.people.ada = { email: "ada@example.com", email_verified: true };
    await logIn(new Browser(service.url), "ada");
    assertStringIncludes((await before.get("triggers")).text, "scope: read");
    issuer.people.ada = {};
    assertEquals((await logIn(new Browser(service.url), "ada")).status, 403);
    assertEquals((await before.get("triggers")).status, 303);
  });
  await t.step("the login leads nowhere else", async () => {
    const elsewhere = [
      "https://evil.example/",
      "//evil.example",
      "/\\evil.example",
      "login",
      "x".repeat(2_000),
    ];
    const { text } = await new Browser(service.url).get("login");
    const [, button = ""] = /href="(login\/with\/\w+)/.exec(text) ?? [];
    for (const to of elsewhere) {
      const browser = new Browser(service.url);
      const { headers } = await browser.get(`${button}?${new URLSearchParams({ to })}`);
      const back = await logInAtIssuer(headers.get("location") ?? "", "eve");
      assertEquals((await comeBack(browser, back)).headers.get("location"), "/", to);
    }
  });
  await t.step("a day later the session has ended", async () => {
    const browser = new Browser(service.url);
    await logIn(browser, "eve");
    clock.time_ms += 23 * HOUR_MS;
    assertEquals((await browser.get("triggers")).status, 200);
    clock.time_ms += HOUR_MS;
    assertEquals((await browser.get("triggers")).status, 303);
  });
  await t.step("other roles in the file end sessions, the same file does not", async () => {
    const browser = new Browser(service.url);
    issuer.tamper = {};
    await logIn(browser, "eve");
    await configure(service, [both.settings()]);
    assertEquals((await browser.get("triggers")).status, 200);
    await configure(service, both.settings({ roles: ROLES.slice(0, 2) }));
    assertEquals((await browser.get("triggers")).status, 303);
    await configure(service, both.settings());
    await configure(service, []);
    assertEquals((await browser.get("triggers")).status, 303);
    assert(!(await browser.get("login")).text.includes("login/with/"));
    await configure(service, both.settings());
  });
  await t.step("a login goes on where the clock is a little behind that of its begin", async () => {
    const browser = new Browser(service.url);
    const back = await logInAtIssuer(await beginLogin(browser), "eve");
    clock.ahead_ms -= 20_000;
    assertEquals((await comeBack(browser, back)).headers.get("location"), "/");
    const other = new Browser(service.url);
    const late = await logInAtIssuer(await beginLogin(other), "eve");
    clock.ahead_ms -= 40_000;
    assertStringIncludes((await comeBack(other, late)).text, "Cause: state_expired.");
    clock.ahead_ms = 0;
  });
  await t.step("what was read while the clock was far ahead is read again", async () => {
    clock.ahead_ms = 24 * HOUR_MS;
    await beginLogin(new Browser(service.url));
    clock.ahead_ms = 0;
    const moved = rewritten((it) => ({ ...it, authorization_endpoint: `${issuer.url}/moved` }));
    issuer.tamper = { [DISCOVERY]: moved };
    assertMatch(await beginLogin(new Browser(service.url)), /\/moved\?/);
    issuer.tamper = {};
    clock.time_ms += HOUR_MS;
  });
  await t.step("logging out leads to the issuer's own end of the session", async () => {
    const browser = new Browser(service.url);
    await logIn(browser, "eve");
    const { status, text } = await browser.post("logout", {});
    assertEquals(status, 200);
    const [, address = ""] = /href="(http[^"]+session\/end[^"]*)"/.exec(text) ?? [];
    const url = new URL(address.replaceAll("&amp;", "&"));
    assertEquals(url.searchParams.get("post_logout_redirect_uri"), `${service.url}/login`);
    const hint = url.searchParams.get("id_token_hint") ?? "";
    assertEquals(hint.split(".").length, 3);
    assertEquals((await browser.get("triggers")).status, 303);
  });
});

/** Rewrites the JSON of an answer. */
function rewritten(change: (value: Record<string, unknown>) => object) {
  return async (answer: Response) => {
    const value = change(await answer.json());
    return new Response(JSON.stringify(value), { status: answer.status, headers: answer.headers });
  };
}

/** Rewrites the claims of the ID token, which leaves its signature as it was. */
const forged = (claims: object) =>
  rewritten((tokens) => {
    const [head = "", body = "", signature = ""] = String(tokens.id_token).split(".");
    const options = { alphabet: "base64url" } as const;
    const read = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(body, options)));
    const written = new TextEncoder().encode(JSON.stringify({ ...read, ...claims }));
    return {
      ...tokens,
      id_token: `${head}.${written.toBase64({ ...options, omitPadding: true })}.${signature}`,
    };
  });

interface Both {
  service: TestService;
  issuer: Issuer;
  settings(others?: object): object;
}

interface Failure {
  cause: string;
  /** Words of the page. */
  says: RegExp;
  tamper?: Issuer["tamper"];
  /** Other settings of the provider. */
  settings?: (both: Both) => object;
  /** Changes the way back. */
  back?: (back: URL) => void;
  /** The login fails before the person is at the issuer. */
  atOnce?: true;
}

const DISCOVERY = "/.well-known/openid-configuration";
const FAILURES: Readonly<Record<string, Failure>> = {
  "an issuer that is down": {
    cause: "issuer_unreachable",
    says: /Example cannot be reached at 127\.0\.0\.1:1/,
    settings: () => ({ issuer: "http://127.0.0.1:1" }),
    atOnce: true,
  },
  "an issuer that fails": {
    cause: "issuer_unreachable",
    says: /cannot be reached/,
    tamper: { [DISCOVERY]: () => new Response("oh", { status: 502 }) },
    atOnce: true,
  },
  "another issuer in the discovery document": {
    cause: "discovery_wrong",
    says: /no discovery document that fits/,
    tamper: { [DISCOVERY]: rewritten((it) => ({ ...it, issuer: "https://evil.example" })) },
    atOnce: true,
  },
  "a page in place of the document": {
    cause: "discovery_wrong",
    says: /no discovery document that fits/,
    tamper: {
      [DISCOVERY]: () => new Response("<p>Hi", { headers: { "content-type": "text/html" } }),
    },
    atOnce: true,
  },
  "a redirect in place of the document": {
    cause: "discovery_wrong",
    says: /redirects http:\/\/127\.0\.0\.1:\d+\/\.well-known/,
    tamper: {
      [DISCOVERY]: () =>
        new Response(null, { status: 302, headers: { location: "http://127.0.0.1:1/" } }),
    },
    atOnce: true,
  },
  "a document that is too long": {
    cause: "issuer_unreachable",
    says: /cannot be reached/,
    tamper: { [DISCOVERY]: () => new Response("x".repeat(1024 * 1024 + 1)) },
    atOnce: true,
  },
  "endpoints that are not HTTPS": {
    cause: "http_refused",
    says: /not HTTPS: http:\/\/evil\.example/,
    tamper: {
      [DISCOVERY]: rewritten((it) => ({ ...it, authorization_endpoint: "http://evil.example/a" })),
    },
    atOnce: true,
  },
  "an endpoint that is a script": {
    cause: "discovery_wrong",
    says: /no discovery document that fits/,
    tamper: {
      [DISCOVERY]: rewritten((it) => ({ ...it, authorization_endpoint: "javascript:alert(1)" })),
    },
    atOnce: true,
  },
  "a secret that is not there": {
    cause: "client_secret_missing",
    says: /\{env:NO_SECRET\} is not set/,
    settings: () => ({ client_secret: "{env:NO_SECRET}" }),
    atOnce: true,
  },
  "a wrong secret": {
    cause: "client_secret_wrong",
    says: /does not accept the client secret/,
    settings: () => ({ client_secret: "{env:WRONG_SECRET}" }),
  },
  "a state of another login": {
    cause: "state_mismatch",
    says: /does not belong to the login/,
    back: ({ searchParams }) => searchParams.set("state", "x".repeat(43)),
  },
  "an answer without a state": {
    cause: "state_mismatch",
    says: /does not belong to the login/,
    back: ({ searchParams }) => searchParams.delete("state"),
  },
  "a person who cancels": {
    cause: "denied",
    says: /cancelled/,
    back: ({ searchParams }) => {
      searchParams.delete("code");
      searchParams.set("error", "access_denied");
    },
  },
  "a redirect URI that is not registered": {
    cause: "redirect_uri_unregistered",
    says: /Register exactly this one there: http:\/\/127\.0\.0\.1:\d+\/login\/callback/,
    back: ({ searchParams }) => {
      searchParams.delete("code");
      searchParams.set("error", "invalid_request");
      searchParams.set("error_description", "redirect_uri did not match any registered");
    },
  },
  "a scope that the issuer refuses": {
    cause: "issuer_refused",
    says: /refused the login: invalid_scope/,
    back: ({ searchParams }) => {
      searchParams.delete("code");
      searchParams.set("error", "invalid_scope");
    },
  },
  "a code that is not the issuer's": {
    cause: "code_refused",
    says: /does not accept the code/,
    back: ({ searchParams }) => searchParams.set("code", "another"),
  },
  "an answer of another issuer": {
    cause: "token_invalid",
    says: /cannot be trusted/,
    back: ({ searchParams }) => searchParams.set("iss", "https://evil.example"),
  },
  "another nonce": {
    cause: "token_invalid",
    says: /cannot be trusted/,
    tamper: { "/token": forged({ nonce: "another" }) },
  },
  "another audience": {
    cause: "token_invalid",
    says: /cannot be trusted/,
    tamper: { "/token": forged({ aud: "another" }) },
  },
  "another issuer in the token": {
    cause: "token_invalid",
    says: /cannot be trusted/,
    tamper: { "/token": forged({ iss: "https://evil.example" }) },
  },
  "a signature that does not fit": {
    cause: "token_invalid",
    says: /cannot be trusted/,
    tamper: { "/token": forged({ email: "admin@example.com" }) },
  },
  "a token that has expired": {
    cause: "clock_skew",
    says: /not valid now/,
    tamper: { "/token": forged({ exp: 1_000_000_000 }) },
  },
  "an answer without an ID token": {
    cause: "token_invalid",
    says: /cannot be trusted/,
    tamper: { "/token": rewritten(({ id_token: _, ...it }) => it) },
  },
  "user info of another person": {
    cause: "token_invalid",
    says: /cannot be trusted/,
    tamper: { "/me": rewritten((it) => ({ ...it, sub: "ada" })) },
  },
};

Deno.test("each way in which a login fails has its page, and opens nothing", async (t) => {
  const clock = new TestClock(systemClock.now());
  await using both = await startBoth({ clock, env: { WRONG_SECRET: "another" } });
  const { service, issuer } = both;
  issuer.people.eve = { email: "eve@example.com", email_verified: true };
  for (
    const [what, { cause, says, tamper = {}, settings, back, atOnce }] of Object.entries(FAILURES)
  ) {
    await t.step(what, async () => {
      // What the step before has read of the issuer is read again.
      clock.time_ms += HOUR_MS;
      await configure(service, both.settings(settings?.(both)));
      issuer.tamper = tamper;
      const browser = new Browser(service.url);
      const seen = atOnce ? await firstStep(browser) : await wholeWay(browser, back);
      issuer.tamper = {};
      assert(seen.status >= 400, seen.text);
      assertStringIncludes(seen.text, `Cause: ${cause}.`);
      assertMatch(textOf(seen), says);
      assertEquals(await isOut(browser), true);
    });
  }
  await t.step("none of this counted against a login that is right", async () => {
    clock.time_ms += HOUR_MS;
    await configure(service, both.settings());
    assertEquals((await logIn(new Browser(service.url), "eve")).status, 303);
  });
});

async function firstStep(browser: Browser) {
  const { text } = await browser.get("login");
  const [, address = ""] = /href="(login\/with\/[^"]+)"/.exec(text) ?? [];
  return await browser.get(address);
}

async function wholeWay(browser: Browser, change: Failure["back"]) {
  const back = new URL(await logInAtIssuer(await beginLogin(browser), "eve"));
  change?.(back);
  return await comeBack(browser, back.href);
}

async function isOut(browser: Browser): Promise<boolean> {
  return (await browser.get("triggers")).status === 303;
}
