/**
 * Redirects of a repository's server. git follows none of its own: each hop is looked at here, leads to the same host
 * or to a public address, and git connects to the addresses that were checked.
 *
 * @module
 */
import { isIP } from "node:net";
import { FetchError } from "../../platform/network/fetch_errors.ts";
import type { Network } from "../../platform/network/connection.ts";
import { redactedUrl } from "../../platform/network/urls.ts";
import type { Remote } from "./remote.ts";

const REDIRECTS_MAX = 5;
const REDIRECTS = [301, 302, 303, 307, 308];
/** The first request of git for a repository, behind the address of that. */
const FIRST_REQUEST = "info/refs?service=git-upload-pack";

/** The surroundings of a look. */
interface LookOptions {
  network: Network;
  signal: AbortSignal;
}

/** The address that git gets, and the settings with which it goes to no other. */
interface Reached {
  url: string;
  settings: readonly string[];
}

/**
 * Finds the address to which the server of a repository redirects; undefined where it does not.
 *
 * @throws {FetchError} when it must not be followed
 * @throws {TransientError} when it cannot be reached
 */
export async function redirectedAddress(
  { url, env }: Remote,
  { network, signal }: LookOptions,
): Promise<Reached | undefined> {
  const start = URL.parse(url);
  if (start === null || start.search !== "") return undefined;
  if (!start.pathname.endsWith("/")) start.pathname += "/";
  // Node's client is loaded for repositories that have an address.
  const { request } = await import("../../platform/network/http_exchange.ts");
  let at = start;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
    const addresses = await allowedAddresses(at, start, network);
    const pinned = { ...network, resolve: () => Promise.resolve(addresses) };
    const options = { network: pinned, privateNetworks: true, setting: "", signal };
    const headers = at.origin === start.origin ? authorizationOf(env) : {};
    using answer = await request(new URL(FIRST_REQUEST, at), headers, options);
    const { location } = answer.headers;
    if (!REDIRECTS.includes(answer.status) || location === undefined) {
      return redirects === 0 ? undefined : { url: at.href, settings: pinOf(at, addresses) };
    }
    at = nextOf(location, answer.url);
  }
  throw new FetchError(`there are more than ${REDIRECTS_MAX} redirects`);
}

/** Resolves a host. That of the repository itself may be private: an admin has named it. */
async function allowedAddresses(at: URL, start: URL, network: Network): Promise<string[]> {
  const host = at.hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(host) ? [host] : await network.resolve(host);
  const isUpgrade = at.protocol === "https:" && at.port === "" && start.port === "";
  if (at.hostname === start.hostname && (at.port === start.port || isUpgrade)) return addresses;
  const allowed = addresses.filter((address) => network.isPublic(address));
  if (allowed.length > 0) return allowed;
  throw new FetchError(
    `it redirects to ${redactedUrl(at)}, which is no public address: write that as the repository`,
  );
}

function nextOf(location: string, from: URL): URL {
  const next = URL.parse(location, from);
  const isOfGit = next?.href.endsWith(`/${FIRST_REQUEST}`) && next.username === "" &&
    next.password === "";
  if (next === null || !isOfGit || !/^https?:$/.test(next.protocol)) {
    throw new FetchError("it redirects to what is no repository");
  }
  if (from.protocol === "https:" && next.protocol === "http:") {
    throw new FetchError("it redirects from https to http");
  }
  return new URL(next.href.slice(0, -FIRST_REQUEST.length));
}

/** Returns the credentials that git would send. */
function authorizationOf(env: Remote["env"]): Record<string, string> {
  const { HOOKLAUNCH_GIT_USERNAME: user, HOOKLAUNCH_GIT_PASSWORD: password } = env;
  if (user === undefined || password === undefined) return {};
  const credentials = new TextEncoder().encode(`${user}:${password}`).toBase64();
  return { authorization: `Basic ${credentials}` };
}

/** Has git connect to addresses that were checked. */
function pinOf({ hostname, port, protocol }: URL, addresses: readonly string[]): string[] {
  if (isIP(hostname.replace(/^\[|\]$/g, ""))) return [];
  const place = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  return ["-c", `http.curloptResolve=${place}:${addresses.join(",")}`];
}
