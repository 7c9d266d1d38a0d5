/**
 * Public keys that verify JWTs: reading them, and telling which fits a token.
 *
 * @module
 */
import { createPublicKey } from "node:crypto";
import type { JWK } from "@panva/jose";
import { messageOf } from "../../platform/errors.ts";

/** The signature algorithms that a JWT condition can name (RFC 7518 section 3.1, RFC 8037). */
export const JWT_ALGORITHMS = [
  "HS256",
  "HS384",
  "HS512",
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
] as const;

/** A signature algorithm of JWTs. */
export type JwtAlgorithm = typeof JWT_ALGORITHMS[number];

/** RFC 7518 sections 3.3 and 3.5 want at least this much of an RSA key. */
const RSA_BITS_MIN = 2048;
const CURVES: Partial<Record<JwtAlgorithm, string>> = {
  ES256: "P-256",
  ES384: "P-384",
  ES512: "P-521",
  EdDSA: "Ed25519",
};
const KEY_TYPES: Record<string, string> = { RS: "RSA", PS: "RSA", ES: "EC", Ed: "OKP" };

/** Whether an algorithm signs with a secret that both sides know. */
export function isSymmetric(algorithm: JwtAlgorithm): boolean {
  return algorithm.startsWith("HS");
}

/** Whether a public key can verify a signature of the algorithm, by what the key says of itself. */
export function fits(key: JWK, algorithm: JwtAlgorithm): boolean {
  return key.kty === KEY_TYPES[algorithm.slice(0, 2)] &&
    (CURVES[algorithm] === undefined || key.crv === CURVES[algorithm]) &&
    (key.alg === undefined || key.alg === algorithm) &&
    (key.use === undefined || key.use === "sig") &&
    (key.key_ops === undefined || (Array.isArray(key.key_ops) && key.key_ops.includes("verify")));
}

/**
 * Reads a public key: PEM (SPKI, PKCS #1, or an X.509 certificate, of which only the key is used),
 * or a JWK as an object or as JSON.
 *
 * @returns the key, or what is wrong with it
 */
export function readPublicKey(setting: string | object): JWK | string {
  try {
    if (typeof setting !== "string") return readJwk(setting);
    const text = setting.trim();
    return text.startsWith("{") ? readJwk(JSON.parse(text)) : readPem(text);
  } catch (error) {
    return `Must be a public key as PEM or JWK: ${messageOf(error)}`;
  }
}

function readPem(pem: string): JWK | string {
  if (pem.includes("PRIVATE KEY")) return "Must be a public key: this is a private one";
  return readJwk(createPublicKey(pem).export({ format: "jwk" }));
}

function readJwk(setting: object): JWK | string {
  if ("d" in setting) return "Must be a public key: this is a private one";
  if ("kty" in setting && setting.kty === "oct") {
    return "Must be a public key: a secret belongs into 'secrets'";
  }
  // A copy, since jose freezes what it is given. That it is a key, createPublicKey finds out.
  const key = structuredClone(setting) as JWK;
  const { asymmetricKeyDetails } = createPublicKey({ key: { ...key }, format: "jwk" });
  const bits = asymmetricKeyDetails?.modulusLength ?? RSA_BITS_MIN;
  if (bits < RSA_BITS_MIN) {
    return `Must have at least ${RSA_BITS_MIN} bits: current value is ${bits}`;
  }
  if (JWT_ALGORITHMS.some((algorithm) => fits(key, algorithm))) return key;
  return `Must be a key of RSA, P-256, P-384, P-521 or Ed25519 for signatures: this is ${
    [key.kty, key.crv, key.alg, key.use].filter(Boolean).join(" ")
  }`;
}
