/**
 * The public keys of an issuer of JWTs, fetched from its JWK Set (RFC 7517 section 5).
 *
 * @module
 */
import type { JWK } from "@panva/jose";
import { deadline } from "@std/async/deadline";
import { ignoreTimeout } from "../../platform/waiting/promises.ts";
import type { Clock } from "../../platform/clock.ts";
import { HooklaunchError, messageOf, UnavailableError } from "../../platform/errors.ts";
import { type Network, systemNetwork } from "../../platform/network/connection.ts";
import { fetchPublic, readAnswer } from "../../platform/network/fetch_public.ts";
import { isLoopback } from "../../platform/network/ip_ranges.ts";
import { hostOf } from "../../platform/network/public_addresses.ts";

const FRESH_MS = 10 * 60_000;
/** The time between two fetches, so that tokens with made-up key ids do not flood the issuer. */
const COOLDOWN_MS = 30_000;
/** The same while no keys are known and every request is refused. */
const COOLDOWN_WITHOUT_KEYS_MS = 5_000;
const TIMEOUT_MS = 5_000;
/** The time that a request with a known key waits for an issuer whose last fetch failed. */
const DOWN_TIMEOUT_MS = 250;
/**
 * The requests that wait for one issuer. Anybody can ask for an unknown key: where the issuer hangs, such
 * requests must not take all places of the service.
 */
const WAITING_MAX = 256;
const BODY_BYTES_MAX = 256 * 1024;
/** The keys of a set that are tried on a token without a key id. */
const CANDIDATES_MAX = 16;

/** An issuer did not answer with a set of keys. */
class IssuerError extends HooklaunchError {
  override readonly code = "issuer_failed";
}

/** Tells whether keys may be fetched from a URL: over TLS, or from this machine. */
export function isJwksUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null) return false;
  const { protocol, username, password } = url;
  const host = hostOf(text);
  const isOwn = host === "localhost" || isLoopback(host);
  return username === "" && password === "" &&
    (protocol === "https:" || (protocol === "http:" && isOwn));
}

interface RemoteKeysOptions {
  /** True where the issuer may have an address that is not public. */
  privateNetworks?: boolean;
  /** The machine's network when absent. */
  network?: Network;
  /** Measures ages, by {@linkcode Clock.steady}. */
  clock: Clock;
  /** Aborts a fetch that is under way. */
  signal: AbortSignal;
  /** The time limit of a fetch, in milliseconds; 5,000 by default. */
  timeout_ms?: number;
}

/**
 * The keys at one URL. They are fetched at the first request, again after ten minutes, and again for a key
 * that is not among them, but not within 30 seconds of the last fetch. While the issuer is down the last
 * good keys stay in use, and requests with a known key wait for it only briefly.
 */
export class RemoteKeys {
  readonly #url: string;
  readonly #options: RemoteKeysOptions;
  #keys: readonly JWK[] | undefined;
  #fetchedAt_ms = -Infinity;
  #triedAt_ms = -Infinity;
  #problem: string | undefined;
  #pending: Promise<void> | undefined;
  #waiting = 0;

  constructor(url: string, options: RemoteKeysOptions) {
    this.#url = url;
    this.#options = options;
  }

  /** The reason why the last fetch failed; undefined when it did not. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /**
   * Finds the keys that pass a filter; none while no fetch has succeeded.
   *
   * @throws {UnavailableError} when too many requests wait for the issuer
   */
  async find(filter: (key: JWK) => boolean): Promise<JWK[]> {
    const age_ms = this.#options.clock.steady() - this.#fetchedAt_ms;
    const found = this.#matching(filter);
    if (found.length > 0 && age_ms < FRESH_MS) return found;
    if (this.#waiting >= WAITING_MAX) {
      if (found.length > 0) return found;
      const { host } = new URL(this.#url);
      throw new UnavailableError(`Cannot get the keys of ${host}: too many wait for them`, 1);
    }
    const wasDown = this.#problem !== undefined;
    const refreshed = this.#refresh();
    this.#waiting++;
    if (found.length > 0 && wasDown) {
      await deadline(refreshed, DOWN_TIMEOUT_MS).catch(ignoreTimeout);
    } else await refreshed;
    this.#waiting--;
    return this.#matching(filter);
  }

  #matching(filter: (key: JWK) => boolean): JWK[] {
    return (this.#keys ?? []).filter(filter).slice(0, CANDIDATES_MAX);
  }

  #refresh(): Promise<void> {
    if (this.#pending) return this.#pending;
    const now_ms = this.#options.clock.steady();
    const cooldown_ms = this.#keys ? COOLDOWN_MS : COOLDOWN_WITHOUT_KEYS_MS;
    if (now_ms - this.#triedAt_ms < cooldown_ms) return Promise.resolve();
    this.#triedAt_ms = now_ms;
    this.#pending = this.#fetch(now_ms).finally(() => this.#pending = undefined);
    return this.#pending;
  }

  async #fetch(now_ms: number): Promise<void> {
    try {
      this.#keys = await fetchKeys(this.#url, this.#options);
      this.#fetchedAt_ms = now_ms;
      this.#problem = undefined;
    } catch (error) {
      this.#problem = messageOf(error);
    }
  }
}

async function fetchKeys(url: string, options: RemoteKeysOptions): Promise<JWK[]> {
  const { signal, timeout_ms = TIMEOUT_MS, privateNetworks = false } = options;
  using answer = await fetchPublic(new URL(url), {
    headersFor: () => ({ accept: "application/jwk-set+json, application/json" }),
    // A redirect would lead to another issuer's keys.
    followsRedirects: false,
    network: options.network ?? systemNetwork,
    privateNetworks,
    setting: "private_networks of the condition",
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeout_ms)]),
  });
  if (answer.status !== 200) {
    // Who may look into the trigger's log need not learn what answers in a private network.
    const found = privateNetworks ? "found another one" : `found ${answer.status}`;
    throw new IssuerError(`expected status 200, ${found}`);
  }
  return keysIn(new TextDecoder().decode(await readAnswer(answer, BODY_BYTES_MAX)));
}

/** Reads a set of keys. No error says what stands there in place of one. */
function keysIn(text: string): JWK[] {
  let set: unknown;
  try {
    set = JSON.parse(text);
  } catch {
    throw new IssuerError("expected JSON, found something else");
  }
  if (typeof set !== "object" || set === null || !("keys" in set) || !Array.isArray(set.keys)) {
    throw new IssuerError("expected a JSON object with a list of 'keys'");
  }
  return set.keys.filter(isPublicJwk);
}

/** Leaves out keys of unknown types, which a set may hold (RFC 7517 section 5). */
function isPublicJwk(key: unknown): key is JWK {
  return typeof key === "object" && key !== null && "kty" in key && key.kty !== "oct" &&
    !("d" in key);
}
