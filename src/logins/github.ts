/**
 * Logins at GitHub, which has OAuth without OpenID Connect: the claims come from its API.
 *
 * @module
 */
import * as oauth from "oauth4webapi";
import { LoginError } from "./failure.ts";
import {
  authentication,
  authorizationAddress,
  type Identified,
  loginError,
  type LoginSecrets,
  optionsOf,
  type ProviderParts,
  tokenError,
} from "./oidc.ts";
import type { Claims } from "./roles.ts";

const PAGE_SIZE = 100;
const PAGES_MAX = 10;
const API_VERSION = "2022-11-28";

/** Returns the address at GitHub that a login begins with. */
export async function githubAddress(parts: ProviderParts, secrets: LoginSecrets): Promise<string> {
  return await authorizationAddress(serverOf(parts), parts, secrets);
}

/**
 * Completes a login: reads the person, the verified address, organisations and teams.
 *
 * @throws {LoginError} for each way in which it fails
 */
export async function githubClaims(
  parts: ProviderParts,
  answer: URLSearchParams,
  { state, verifier }: LoginSecrets,
): Promise<Identified> {
  const { provider, requests, redirect_uri } = parts;
  const server = serverOf(parts);
  const client: oauth.Client = { client_id: provider.client_id };
  try {
    const checked = oauth.validateAuthResponse(server, client, answer, state);
    const granted = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      authentication(parts, server),
      checked,
      redirect_uri,
      verifier,
      optionsOf(requests),
    );
    const { access_token, error, error_description } = await jsonOf(granted, provider.name);
    // GitHub tells of errors with status 200.
    if (typeof error === "string") {
      throw tokenError(provider, redirect_uri, error, String(error_description ?? ""));
    }
    if (typeof access_token !== "string") throw wrongAnswer(provider.name, "no access_token");
    return { claims: await claimsOf(parts, access_token) };
  } catch (error) {
    throw loginError(error, parts);
  }
}

async function claimsOf(parts: ProviderParts, token: string): Promise<Claims> {
  const { provider: { name } } = parts;
  const user = await jsonOf(await get(parts, token, "user"), name);
  if (typeof user.id !== "number" || typeof user.login !== "string") {
    throw wrongAnswer(name, "the user has no id");
  }
  const emails = await list(parts, token, "user/emails");
  const primary = emails.find(({ primary, verified }) => primary === true && verified === true);
  const orgs = await list(parts, token, "user/orgs");
  const teams = await list(parts, token, "user/teams");
  return {
    sub: String(user.id),
    id: user.id,
    login: user.login,
    ...(typeof user.name === "string" && { name: user.name }),
    ...(typeof primary?.email === "string" && { email: primary.email, email_verified: true }),
    orgs: orgs.map(({ login }) => String(login)),
    teams: teams.map(({ slug, organization }) => `${Object(organization).login}/${slug}`),
  };
}

/** Reads a list of the API; an empty one where the scopes that were asked for do not allow it. */
async function list(
  parts: ProviderParts,
  token: string,
  path: string,
): Promise<Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = [];
  for (let page = 1; page <= PAGES_MAX; page++) {
    const answer = await get(parts, token, `${path}?per_page=${PAGE_SIZE}&page=${page}`);
    if (!isLimited(answer) && (answer.status === 403 || answer.status === 404)) return all;
    const found: unknown = await answer.json().catch(() => undefined);
    if (!answer.ok || !Array.isArray(found)) throw wrongAnswer(parts.provider.name, path);
    all.push(...found.map((each) => Object(each)));
    if (found.length < PAGE_SIZE) break;
  }
  return all;
}

/** Tells whether an answer says that too many requests came, which tells nothing of the person. */
function isLimited({ headers }: Response): boolean {
  return headers.has("retry-after") || headers.get("x-ratelimit-remaining") === "0";
}

async function get({ provider, requests }: ProviderParts, token: string, path: string) {
  return await requests.fetch(`${apiOf(provider.issuer)}/${path}`, {
    headers: {
      accept: "application/vnd.github+json",
      authorization: `Bearer ${token}`,
      "user-agent": "Hooklaunch",
      "x-github-api-version": API_VERSION,
    },
  });
}

async function jsonOf(answer: Response, name: string): Promise<Record<string, unknown>> {
  const value: unknown = await answer.json().catch(() => undefined);
  if (answer.ok && typeof value === "object" && value !== null) return { ...value };
  const { error, message }: Record<string, unknown> = Object(value);
  throw wrongAnswer(name, `status ${answer.status} ${error ?? message ?? ""}`);
}

function wrongAnswer(name: string, detail: string): LoginError {
  return new LoginError(
    "answer_wrong",
    `${name} gave no answer that can be used`,
    "Log in again. If it stays so, look at the service's log.",
    detail,
  );
}

/** GitHub publishes no metadata. Its answers name this issuer, or none (RFC 9207). */
function serverOf({ provider: { issuer } }: ProviderParts): oauth.AuthorizationServer {
  const base = issuer.replace(/\/+$/, "");
  return {
    issuer: `${base}/login/oauth`,
    authorization_endpoint: `${base}/login/oauth/authorize`,
    token_endpoint: `${base}/login/oauth/access_token`,
    token_endpoint_auth_methods_supported: ["client_secret_post"],
  };
}

function apiOf(issuer: string): string {
  const base = issuer.replace(/\/+$/, "");
  return base === "https://github.com" ? "https://api.github.com" : `${base}/api/v3`;
}
