/**
 * Signature algorithms of JWTs, and the public keys that verify them.
 *
 * @module
 */
import type { JWK } from "@panva/jose";
import type { SecretForm } from "../condition.ts";
import { type KeySetting, readPublicKey } from "../keys.ts";

/** The signature algorithms that a JWT condition can name (RFC 7518 section 3.1, RFC 8037, RFC 9864). */
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
  "Ed25519",
] as const;

/** A signature algorithm of JWTs. */
export type JwtAlgorithm = typeof JWT_ALGORITHMS[number];

const CURVES: Partial<Record<JwtAlgorithm, string>> = {
  ES256: "P-256",
  ES384: "P-384",
  ES512: "P-521",
  EdDSA: "Ed25519",
  Ed25519: "Ed25519",
};
const KEY_TYPES: Record<string, string> = { RS: "RSA", PS: "RSA", ES: "EC", Ed: "OKP" };

/** Tells whether an algorithm signs with a secret that both sides know. */
export function isSymmetric(algorithm: JwtAlgorithm): boolean {
  return algorithm.startsWith("HS");
}

/**
 * Returns the algorithm that needs the longest secret: at least as many bytes as its hash has (RFC 7518 section
 * 3.2). Undefined where none signs with a secret.
 */
export function longestSecret(algorithms: readonly JwtAlgorithm[]): SecretForm["need"] {
  const [longest] = algorithms.filter(isSymmetric).sort().reverse();
  return longest && { bytes: Number(longest.slice(2)) / 8, by: longest };
}

/** Tells whether a public key can verify a signature of the algorithm, by its own parameters. */
export function fits(key: JWK, algorithm: JwtAlgorithm): boolean {
  return key.kty === KEY_TYPES[algorithm.slice(0, 2)] &&
    (CURVES[algorithm] === undefined || key.crv === CURVES[algorithm]) &&
    (key.alg === undefined || key.alg === algorithm) &&
    (key.use === undefined || key.use === "sig") &&
    (key.key_ops === undefined || (Array.isArray(key.key_ops) && key.key_ops.includes("verify")));
}

/**
 * Reads a public key as PEM or JWK.
 *
 * @returns the key, or what is wrong with it
 */
export function readJwk(setting: KeySetting): JWK | string {
  const read = readPublicKey(setting);
  if (typeof read === "string") return read;
  // The key has been read, so the JWK is one of a public key.
  const jwk = (read.jwk ?? read.key.export({ format: "jwk" })) as JWK;
  if (JWT_ALGORITHMS.some((algorithm) => fits(jwk, algorithm))) return jwk;
  const found = [jwk.kty, jwk.crv, jwk.alg, jwk.use].filter(Boolean).join(" ");
  return `Must be a key of RSA, P-256, P-384, P-521 or Ed25519 for signatures: this is ${found}`;
}
