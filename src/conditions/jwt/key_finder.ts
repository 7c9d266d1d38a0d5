/**
 * Finding the keys that may have signed a JWT.
 *
 * @module
 */
import { decodeProtectedHeader, type JWK } from "@panva/jose";
import { truncate } from "../../platform/text/display.ts";
import type { Refusal } from "../check.ts";
import type { ConditionEnvironment } from "../condition.ts";
import { RemoteKeys } from "./jwks.ts";
import { fits, type JwtAlgorithm, readJwk } from "./algorithms.ts";
import { refuseWithoutSecrets, type Secrets } from "../secret.ts";

const TOKEN_CHARACTERS_MAX = 16 * 1024;
const SHOWN_CHARACTERS_MAX = 100;

/** A key that verifies a signature: a secret's bytes, or a public key. */
export type VerificationKey = Uint8Array | JWK;

/** The part of a token that chooses the key. It is not trusted before the signature is verified. */
interface TokenHeader {
  algorithm: JwtAlgorithm;
  /** The id of the key (RFC 7515 section 4.1.4). */
  kid: string | undefined;
}

/** Finds the keys for a token: at least one, or the reason why there is none. */
type KeyFinder = (header: TokenHeader) => Promise<VerificationKey[] | Refusal>;

/** The sources of keys: one of these, or else the secrets. */
interface KeySettings {
  public_keys?: readonly (string | object)[] | undefined;
  jwks_url?: string | undefined;
  private_networks?: boolean | undefined;
}

/** Reads the header of a token in compact form, and refuses an algorithm that is not listed. */
export function readTokenHeader(
  token: string,
  algorithms: readonly JwtAlgorithm[],
): TokenHeader | Refusal {
  if (token.length > TOKEN_CHARACTERS_MAX) {
    return {
      reason: "The token is too long",
      expected: `at most ${TOKEN_CHARACTERS_MAX} characters`,
      found: `${token.length} characters`,
    };
  }
  try {
    const { alg, kid } = decodeProtectedHeader(token);
    const algorithm = algorithms.find((listed) => listed === alg);
    if (algorithm !== undefined) {
      return { algorithm, kid: typeof kid === "string" ? kid : undefined };
    }
    return {
      reason: "The algorithm of the token is not listed",
      found: truncate(String(alg), SHOWN_CHARACTERS_MAX),
    };
  } catch {
    return { reason: "The token is not a JWT" };
  }
}

/** Prepares the one source of keys that the settings name. */
export function keyFinder(
  settings: KeySettings,
  secrets: Secrets,
  environment: ConditionEnvironment,
): KeyFinder {
  if (settings.jwks_url !== undefined) {
    return remoteKeys(settings.jwks_url, settings.private_networks ?? false, environment);
  }
  if (settings.public_keys) return givenKeys(settings.public_keys);
  const found = refuseWithoutSecrets(secrets) ?? secrets.usable.map(({ bytes }) => bytes);
  return () => Promise.resolve(found);
}

function givenKeys(settings: readonly (string | object)[]): KeyFinder {
  const keys = settings.map(readJwk).filter((key) => typeof key !== "string");
  return (header) => {
    // A key without an id, such as one in PEM, is tried whatever id the token names.
    const found = keys.filter((key) =>
      fits(key, header.algorithm) && (key.kid === undefined || isNamed(key, header))
    );
    return Promise.resolve(found.length > 0 ? found : noKey(header, "public_keys"));
  };
}

function remoteKeys(
  url: string,
  privateNetworks: boolean,
  { clock, signal }: ConditionEnvironment,
): KeyFinder {
  const remote = new RemoteKeys(url, { clock, signal, privateNetworks });
  return async (header) => {
    const found = await remote.find((key) => fits(key, header.algorithm) && isNamed(key, header));
    if (found.length > 0) return found;
    const refusal = noKey(header, url);
    return remote.problem === undefined
      ? refusal
      : { ...refusal, reason: `${refusal.reason}: cannot fetch them: ${remote.problem}` };
  };
}

function isNamed(key: JWK, { kid }: TokenHeader): boolean {
  return kid === undefined || key.kid === kid;
}

function noKey({ algorithm, kid }: TokenHeader, source: string): Refusal {
  return {
    reason: `None of the keys of ${source} fits the token`,
    found: kid === undefined
      ? algorithm
      : `${algorithm} with key id ${truncate(kid, SHOWN_CHARACTERS_MAX)}`,
  };
}
