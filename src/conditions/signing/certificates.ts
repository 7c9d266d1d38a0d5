/**
 * Certificates that providers publish: a request names the one whose key has signed it.
 *
 * @module
 */
import type { KeyObject } from "node:crypto";
import { X509Certificate } from "node:crypto";
import type { Clock } from "../../platform/clock.ts";
import { messageOf, UnavailableError } from "../../platform/errors.ts";
import { evictOldest } from "../../platform/evict_oldest.ts";
import { systemNetwork } from "../../platform/network/connection.ts";
import { fetchPublic, readAnswer } from "../../platform/network/fetch_public.ts";

const TIMEOUT_MS = 5_000;
const BYTES_MAX = 64 * 1024;
/** The certificates that are kept. A provider has a few at a time. */
const KEPT_MAX = 16;
const FETCHES_MAX = 4;
/** The time in which a URL that gave no certificate is not fetched again. */
const COOLDOWN_MS = 30_000;
const RSA_BITS_MIN = 2048;

interface Surroundings {
  clock: Clock;
  signal: AbortSignal;
  /** Fetches a file; by default from a public address over TLS, without redirects. */
  fetch?(url: URL, signal: AbortSignal): Promise<Uint8Array>;
}

interface Known {
  certificate?: X509Certificate;
  /** The time of the fetch, by {@linkcode Clock.steady}. */
  at_ms: number;
}

/** The certificates at a provider's URLs, each fetched once. */
export class Certificates {
  readonly #surroundings: Required<Surroundings>;
  readonly #known = new Map<string, Known>();
  readonly #fetches = new Map<string, Promise<Known>>();

  constructor(surroundings: Surroundings) {
    this.#surroundings = { fetch: fetchFile, ...surroundings };
  }

  /**
   * Returns the key of a certificate, which must be valid at a time.
   *
   * @param url a URL of the provider's
   * @returns the key, or what is wrong with the certificate
   * @throws {UnavailableError} when it cannot be fetched now
   */
  async keyOf(url: URL, at_ms: number): Promise<KeyObject | string> {
    const { certificate } = await this.#find(url);
    if (certificate === undefined) return "it is no certificate";
    const { publicKey, validFromDate, validToDate } = certificate;
    if (at_ms < validFromDate.getTime() || at_ms > validToDate.getTime()) {
      return `it is valid from ${validFromDate.toISOString()} to ${validToDate.toISOString()}`;
    }
    const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? 0;
    if (publicKey.asymmetricKeyType === "rsa" && bits >= RSA_BITS_MIN) return publicKey;
    return `it has no RSA key of ${RSA_BITS_MIN} bits`;
  }

  async #find(url: URL): Promise<Known> {
    const { clock } = this.#surroundings;
    const known = this.#known.get(url.href);
    const isFresh = known?.certificate !== undefined ||
      (known !== undefined && clock.steady() - known.at_ms < COOLDOWN_MS);
    if (isFresh) return known;
    const pending = this.#fetches.get(url.href);
    if (pending) return await pending;
    if (this.#fetches.size >= FETCHES_MAX) {
      throw new UnavailableError(
        `Cannot get a certificate of ${url.host}: too many are fetched`,
        1,
      );
    }
    const fetched = this.#fetch(url).finally(() => this.#fetches.delete(url.href));
    this.#fetches.set(url.href, fetched);
    return await fetched;
  }

  async #fetch(url: URL): Promise<Known> {
    const { clock, signal, fetch } = this.#surroundings;
    const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    let bytes: Uint8Array;
    try {
      bytes = await fetch(url, limited);
    } catch (cause) {
      throw new UnavailableError(`Cannot get ${url.href}: ${messageOf(cause)}`, 5, { cause });
    }
    const certificate = certificateOf(bytes);
    const known = { at_ms: clock.steady(), ...(certificate && { certificate }) };
    this.#known.set(url.href, known);
    evictOldest(this.#known, KEPT_MAX);
    return known;
  }
}

function certificateOf(bytes: Uint8Array): X509Certificate | undefined {
  try {
    return new X509Certificate(bytes);
  } catch {
    return undefined;
  }
}

async function fetchFile(url: URL, signal: AbortSignal): Promise<Uint8Array> {
  using answer = await fetchPublic(url, {
    followsRedirects: false,
    network: systemNetwork,
    privateNetworks: false,
    setting: "",
    signal,
  });
  if (answer.status !== 200) throw new TypeError(`the answer is ${answer.status}`);
  return (await readAnswer(answer, BYTES_MAX)).slice();
}
