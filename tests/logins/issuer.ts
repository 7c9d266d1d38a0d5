/**
 * A real identity provider, oidc-provider, behind a front that can change what it answers; and a person who logs in
 * there with a browser without a window.
 *
 * @module
 */
import { createServer } from "node:http";
import { assert, assertEquals } from "@std/assert";
import { exportJWK } from "@panva/jose";
import Provider from "oidc-provider";
import type { Browser, Seen } from "../http/console/fixture.ts";
import { rsaPairs } from "../rsa_keys.ts";

/** The secret of the client at the issuer. */
export const CLIENT_SECRET = "a-secret-of-the-client";
export const CLIENT_ID = "hooklaunch";

/** Changes the answer of the issuer at a path that ends so. */
export type Tampering = Readonly<
  Record<string, (answer: Response) => Response | Promise<Response>>
>;

/** An issuer that listens. */
export interface Issuer extends AsyncDisposable {
  url: string;
  /** The claims of people, by the name with which they log in. */
  people: Record<string, Record<string, unknown>>;
  /** Changes answers from now on. */
  tamper: Tampering;
  /** The requests that came, by their paths. */
  readonly seen: string[];
}

/**
 * Starts an issuer whose client is a service.
 *
 * @param tls the certificate of the issuer; plain HTTP without it
 */
export async function startIssuer(
  serviceUrl: string,
  tls?: { cert: string; key: string },
): Promise<Issuer> {
  const [{ privateKey }] = rsaPairs;
  const people: Issuer["people"] = {};
  const seen: string[] = [];
  const inner = createServer();
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  inner.listen(0, "127.0.0.1", resolve);
  await listening;
  const address = inner.address();
  assert(typeof address === "object" && address !== null);
  const state: { tamper: Tampering } = { tamper: {} };
  const at = { port: 0, hostname: "127.0.0.1", onListen() {}, ...tls };
  const scheme = tls === undefined ? "http" : "https";
  const front = Deno.serve(at, async (request) => {
    const url = new URL(request.url);
    seen.push(url.pathname);
    const headers = new Headers(request.headers);
    headers.set("x-forwarded-host", url.host);
    headers.set("x-forwarded-proto", scheme);
    const answer = await fetch(`http://127.0.0.1:${address.port}${url.pathname}${url.search}`, {
      method: request.method,
      headers,
      body: request.body === null ? null : await request.bytes(),
      redirect: "manual",
    });
    const body = await answer.bytes();
    const plain = new Response(answer.status === 204 ? null : body, answer);
    const [, change] = Object.entries(state.tamper).find(([end]) => url.pathname.endsWith(end)) ??
      [];
    return await change?.(plain) ?? plain;
  });
  const url = `${scheme}://127.0.0.1:${front.addr.port}`;
  const provider = providerOf(url, { serviceUrl, people, key: await exportJWK(privateKey) });
  inner.on("request", provider.callback());
  return {
    url,
    people,
    seen,
    get tamper() {
      return state.tamper;
    },
    set tamper(changes) {
      state.tamper = changes;
    },
    async [Symbol.asyncDispose]() {
      await front.shutdown();
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      inner.close(() => resolve());
      inner.closeAllConnections();
      await closed;
    },
  };
}

/** The part of oidc-provider's context that gives consent; the package has no types. */
interface GrantContext {
  oidc: { client?: { clientId: string }; session?: { accountId?: string } };
}

function providerOf(
  url: string,
  { serviceUrl, people, key }: {
    serviceUrl: string;
    people: Issuer["people"];
    key: Awaited<ReturnType<typeof exportJWK>>;
  },
): Provider {
  const provider = new Provider(url, {
    clients: [{
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      redirect_uris: [`${serviceUrl}/login/callback`],
      post_logout_redirect_uris: [`${serviceUrl}/login`],
    }],
    jwks: { keys: [{ ...key, alg: "RS256", use: "sig", kid: "a" }] },
    cookies: { keys: ["a-key-of-cookies"] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, ...people[id] }),
    }),
    // Nobody is asked for consent.
    async loadExistingGrant({ oidc }: GrantContext) {
      const { client, session } = oidc;
      assert(client && session?.accountId);
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope("openid email profile");
      await grant.save();
      return grant;
    },
  });
  provider.proxy = true;
  return provider;
}

/**
 * Goes to the issuer from the address that a login of the service has led to, and logs in. Returns the way back.
 *
 * @param client trusts the certificate of the issuer
 */
export async function logInAtIssuer(
  start: string,
  name: string,
  client?: Deno.HttpClient,
): Promise<string> {
  const cookies = new Map<string, string>();
  const send = async (url: string, fields?: Record<string, string>) => {
    const answer = await fetch(url, {
      redirect: "manual",
      ...(client && { client }),
      headers: { cookie: [...cookies].map((pair) => pair.join("=")).join("; ") },
      ...(fields && { method: "POST", body: new URLSearchParams(fields) }),
    });
    for (const set of answer.headers.getSetCookie()) {
      const [, key = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(key, value);
    }
    const to = answer.headers.get("location");
    return { text: await answer.text(), to: to === null ? undefined : new URL(to, url).href };
  };
  const { origin } = new URL(start);
  let at: string | undefined = start;
  for (let hops = 0; at !== undefined && hops < 10; hops++) {
    if (new URL(at).origin !== origin) return at;
    const answer: { text: string; to: string | undefined } = await send(at);
    if (answer.to !== undefined) {
      at = answer.to;
      continue;
    }
    const form: string | undefined = /action="([^"]+)"/.exec(answer.text)?.[1];
    assert(form, answer.text);
    at = (await send(form, { prompt: "login", login: name, password: "x" })).to;
  }
  throw new Error(`The issuer leads nowhere: ${at}`);
}

/** Begins a login of the service in a browser. Returns the address at the issuer. */
export async function beginLogin(browser: Browser, to = ""): Promise<string> {
  const { text } = await browser.get(`login?${new URLSearchParams({ to })}`);
  const [, address] = /href="(login\/with\/[^"]+)"/.exec(text) ?? [];
  assert(address, text);
  const { status, headers, text: page } = await browser.get(address.replaceAll("&amp;", "&"));
  assertEquals(status, 303, page);
  return headers.get("location") ?? "";
}

/** Follows the way back from the issuer. */
export async function comeBack(browser: Browser, back: string): Promise<Seen> {
  const { pathname, search } = new URL(back);
  return await browser.get(`${pathname.slice(1)}${search}`);
}

/** Logs in, from the button to the page behind the login. */
export async function logIn(browser: Browser, name: string, to = ""): Promise<Seen> {
  return await comeBack(browser, await logInAtIssuer(await beginLogin(browser, to), name));
}
