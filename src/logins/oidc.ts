/**
 * OpenID Connect: the authorization code flow with PKCE, state and nonce, by oauth4webapi.
 *
 * @module
 */
import * as oauth from "oauth4webapi";
import { messageOf } from "../platform/errors.ts";
import { keepNewest } from "../platform/evict_oldest.ts";
import type { LoginProvider } from "../store/records/login_providers.ts";
import { LoginError } from "./failure.ts";
import type { IssuerRequests } from "./issuer_requests.ts";
import type { Claims } from "./roles.ts";

/** The discovery document of an issuer is read again after this time. */
const DISCOVERY_MS = 10 * 60_000;
const ISSUERS_MAX = 20;
/** The difference of clocks that is accepted. */
const TOLERANCE_S = 30;
const SKEW_SHOWN_MS = 15_000;

/** The secrets of one login, until the issuer sends the person back. */
export interface LoginSecrets {
  state: string;
  nonce: string;
  verifier: string;
}

/** A provider, and what speaks with it. */
export interface ProviderParts {
  provider: LoginProvider;
  /** The client secret; undefined for a public client. */
  secret: string | undefined;
  requests: IssuerRequests;
  /** The address that the issuer sends people back to. */
  redirect_uri: string;
  now: () => number;
}

/** The outcome of a login at an issuer. */
export interface Identified {
  claims: Claims;
  /** The ID token; absent where there is none. */
  id_token?: string;
}

/** The endpoints and the keys of an issuer. */
interface Discovered {
  server: oauth.AuthorizationServer;
  read_ms: number;
  jwks: oauth.JWKSCacheInput;
}

const discovered = new Map<string, Promise<Discovered>>();

/** Makes the secrets of a login. */
export function newLoginSecrets(): LoginSecrets {
  return {
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    verifier: oauth.generateRandomCodeVerifier(),
  };
}

/**
 * Returns the address at the issuer that a login begins with.
 *
 * @throws {LoginError} when the issuer cannot be used
 */
export async function oidcAddress(parts: ProviderParts, secrets: LoginSecrets): Promise<string> {
  const { server } = await discover(parts);
  return await authorizationAddress(server, parts, secrets, { nonce: secrets.nonce });
}

/** Returns the address of an authorization endpoint for a login. */
export async function authorizationAddress(
  { authorization_endpoint }: oauth.AuthorizationServer,
  { provider, requests, redirect_uri }: ProviderParts,
  { state, verifier }: LoginSecrets,
  others: Readonly<Record<string, string>> = {},
): Promise<string> {
  const url = URL.parse(authorization_endpoint ?? "");
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw wrongDiscovery(provider, "it names no authorization_endpoint");
  }
  requests.check(url.href);
  const query = {
    response_type: "code",
    client_id: provider.client_id,
    redirect_uri,
    scope: provider.scopes.join(" "),
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    ...others,
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

/**
 * Completes a login: checks the answer of the issuer and its ID token, and reads the claims.
 *
 * @throws {LoginError} for each way in which it fails
 */
export async function oidcClaims(
  parts: ProviderParts,
  answer: URLSearchParams,
  { state, nonce, verifier }: LoginSecrets,
): Promise<Identified> {
  const { provider, requests, redirect_uri } = parts;
  const { server, jwks } = await discover(parts);
  const client: oauth.Client = {
    client_id: provider.client_id,
    [oauth.clockTolerance]: TOLERANCE_S,
  };
  const options = optionsOf(requests);
  try {
    const checked = oauth.validateAuthResponse(server, client, answer, state);
    const granted = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      authentication(parts, server),
      checked,
      redirect_uri,
      verifier,
      options,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, granted, {
      expectedNonce: nonce,
      requireIdToken: true,
    });
    const id = oauth.getValidatedIdTokenClaims(tokens);
    if (id === undefined) throw untrusted(provider.name, "there is no ID token");
    await oauth.validateApplicationLevelSignature(server, granted, {
      ...options,
      [oauth.jwksCache]: jwks,
    });
    const more = server.userinfo_endpoint === undefined
      ? {}
      : await userInfo(server, client, { tokens, subject: id.sub, options });
    return {
      // The ID token is signed: it counts where both say something.
      claims: { ...more, ...id },
      ...(tokens.id_token !== undefined && { id_token: tokens.id_token }),
    };
  } catch (error) {
    throw loginError(error, parts);
  }
}

/** Returns the address at which the issuer ends its own session; undefined where it publishes none. */
export async function logoutAddress(
  parts: ProviderParts,
  { id_token, back }: { id_token: string | undefined; back: string },
): Promise<string | undefined> {
  const { server } = await discover(parts);
  const url = URL.parse(server.end_session_endpoint ?? "");
  if (url === null) return undefined;
  parts.requests.check(url.href);
  url.searchParams.set("client_id", parts.provider.client_id);
  url.searchParams.set("post_logout_redirect_uri", back);
  if (id_token !== undefined) url.searchParams.set("id_token_hint", id_token);
  return url.href;
}

/** Returns the way in which a client proves who it is. */
export function authentication(
  { secret, provider }: Pick<ProviderParts, "secret" | "provider">,
  { token_endpoint_auth_methods_supported: methods }: oauth.AuthorizationServer,
): oauth.ClientAuth {
  if (provider.client_secret === undefined) return oauth.None();
  const isPost = methods !== undefined && !methods.includes("client_secret_basic") &&
    methods.includes("client_secret_post");
  return isPost ? oauth.ClientSecretPost(secret ?? "") : oauth.ClientSecretBasic(secret ?? "");
}

/** The options of oauth4webapi for the requests to an issuer: they decide on HTTPS. */
export function optionsOf(requests: IssuerRequests) {
  return {
    [oauth.customFetch]: (url: string, init: Parameters<IssuerRequests["fetch"]>[1]) =>
      requests.fetch(url, init),
    [oauth.allowInsecureRequests]: true,
  };
}

async function userInfo(
  server: oauth.AuthorizationServer,
  client: oauth.Client,
  { tokens, subject, options }: {
    tokens: oauth.TokenEndpointResponse;
    subject: string;
    options: ReturnType<typeof optionsOf>;
  },
): Promise<Claims> {
  const answer = await oauth.userInfoRequest(server, client, tokens.access_token, options);
  return await oauth.processUserInfoResponse(server, client, subject, answer);
}

/** Reads the discovery document of an issuer, unless it was read a while ago. */
async function discover(parts: ProviderParts): Promise<Discovered> {
  const { provider: { issuer }, now } = parts;
  const known = await discovered.get(issuer)?.catch(() => undefined);
  const age_ms = known === undefined ? NaN : now() - known.read_ms;
  // One of a time to come was read while the clock was wrong.
  if (known !== undefined && age_ms >= 0 && age_ms < DISCOVERY_MS) return known;
  discovered.delete(issuer);
  // One request for all who log in at once. A failure is kept by none of them.
  const reading = keepNewest(discovered, issuer, {
    size_max: ISSUERS_MAX,
    make: () => readDiscovery(parts),
  });
  reading.catch(() => discovered.get(issuer) === reading && discovered.delete(issuer));
  return await reading;
}

async function readDiscovery({ provider, requests, now }: ProviderParts): Promise<Discovered> {
  try {
    const issuer = new URL(provider.issuer);
    const answer = await oauth.discoveryRequest(issuer, {
      ...optionsOf(requests),
      algorithm: "oidc",
    });
    const server = await oauth.processDiscoveryResponse(issuer, answer);
    return { server, read_ms: now(), jwks: {} };
  } catch (error) {
    throw error instanceof LoginError ? error : wrongDiscovery(provider, messageOf(error));
  }
}

function wrongDiscovery({ name, issuer }: LoginProvider, detail: string): LoginError {
  return new LoginError(
    "discovery_wrong",
    `${name} has no discovery document that fits at ${issuer}`,
    "The issuer in hooklaunch.yaml must be exactly the one that the provider names in " +
      "/.well-known/openid-configuration below it.",
    detail,
  );
}

/** Finds the cause of an error of oauth4webapi. */
export function loginError(error: unknown, { provider, requests, redirect_uri }: ProviderParts) {
  if (error instanceof LoginError) return error;
  const { name } = provider;
  if (error instanceof oauth.AuthorizationResponseError) {
    return refusedByIssuer(provider, redirect_uri, error.error, error.error_description);
  }
  if (
    error instanceof oauth.ResponseBodyError || error instanceof oauth.WWWAuthenticateChallengeError
  ) {
    const code = error instanceof oauth.ResponseBodyError ? error.error : "invalid_client";
    const said = error instanceof oauth.ResponseBodyError ? error.error_description ?? "" : "";
    return tokenError(provider, redirect_uri, code, said);
  }
  const code = error instanceof oauth.OperationProcessingError ? error.code : undefined;
  const ahead_ms = requests.ahead_ms ?? 0;
  if (
    code === oauth.JWT_TIMESTAMP_CHECK ||
    code !== undefined && /\b(?:exp|iat|nbf)\b/.test(messageOf(error))
  ) {
    const apart = Math.abs(ahead_ms) < SKEW_SHOWN_MS
      ? ""
      : `, and the clock of this service is ${Math.round(Math.abs(ahead_ms) / 1_000)} s ${
        ahead_ms > 0 ? "behind" : "ahead of"
      } that of ${name}`;
    return new LoginError(
      "clock_skew",
      `The ID token of ${name} is not valid now${apart}`,
      "Check the clock of the service's machine (NTP) and that of the provider, and log in again.",
      messageOf(error),
    );
  }
  return untrusted(name, messageOf(error));
}

function untrusted(name: string, detail: string): LoginError {
  return new LoginError(
    "token_invalid",
    `The answer of ${name} cannot be trusted: its ID token does not belong to this login, or is not signed as it must be`,
    "Log in again. If it stays so, compare issuer and client_id in hooklaunch.yaml with the provider's: the " +
      "service's log says more.",
    detail,
  );
}

/** Makes the error of an answer to the authorization request that is one. */
function refusedByIssuer(
  { name }: LoginProvider,
  redirect_uri: string,
  code: string,
  said = "",
): LoginError {
  if (code === "access_denied") {
    return new LoginError(
      "denied",
      `The login at ${name} was cancelled, or ${name} did not allow it`,
      "Log in again, and agree there. If you did, ask who administers it for access to this application.",
      said,
    );
  }
  if (code === "redirect_uri_mismatch" || /redirect.?ur[il]/i.test(said)) {
    return unregistered(name, redirect_uri, `${code}: ${said}`);
  }
  return new LoginError(
    "issuer_refused",
    `${name} refused the login: ${code.slice(0, 100)}`,
    "Check client_id and scopes in hooklaunch.yaml, and that the client may use the authorization code flow.",
    said,
  );
}

/** Makes the error of an answer of the token endpoint. */
export function tokenError(
  { name }: LoginProvider,
  redirect_uri: string,
  code: string,
  said: string,
): LoginError {
  if (
    code === "invalid_client" || code === "unauthorized_client" ||
    code === "incorrect_client_credentials"
  ) {
    return new LoginError(
      "client_secret_wrong",
      `${name} does not accept the client secret of this service`,
      "Put the secret that the provider shows into the variable or file that client_secret names: it may have expired.",
      `${code}: ${said}`,
    );
  }
  if (code === "redirect_uri_mismatch" || /redirect.?ur[il]/i.test(said)) {
    return unregistered(name, redirect_uri, `${code}: ${said}`);
  }
  return new LoginError(
    "code_refused",
    `${name} does not accept the code of this login any more`,
    "Log in again: a code can be used once, for about a minute.",
    `${code}: ${said}`,
  );
}

function unregistered(name: string, redirect_uri: string, detail: string): LoginError {
  return new LoginError(
    "redirect_uri_unregistered",
    `${name} does not know the redirect URI of this service`,
    `Register exactly this one there: ${redirect_uri}`,
    detail,
  );
}
