/**
 * Verifying signatures with WebCrypto, which hashes long contents off the event loop.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { KeyObject } from "node:crypto";
import { isAnyOf } from "../secret.ts";
import type { MacAlgorithm, SignatureAlgorithm } from "./scheme.ts";

/** The names of the hashes in WebCrypto. */
const HASHES = { sha1: "SHA-1", sha256: "SHA-256", sha384: "SHA-384", sha512: "SHA-512" } as const;

/** The algorithms of signatures in WebCrypto. */
const ALGORITHMS = {
  ed25519: { name: "Ed25519" },
  ecdsa_p256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  rsa_sha256: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
  rsa_sha1: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-1" },
} as const satisfies Record<SignatureAlgorithm, object>;

/** The bytes of r, and of s. */
const P256_BYTES = 32;
/** The tags of ASN.1. */
const SEQUENCE = 0x30;
const INTEGER = 0x02;

/** Tells whether one of the MACs belongs to the content. Every secret is tried, even after one that fits. */
export async function matchesMac(
  algorithm: MacAlgorithm,
  secrets: readonly Uint8Array[],
  content: readonly Uint8Array[],
  macs: readonly Uint8Array[],
): Promise<boolean> {
  const bytes = Buffer.concat(content);
  const hmac = { name: "HMAC", hash: HASHES[algorithm] };
  let found = false;
  for (const secret of secrets) {
    const key = await crypto.subtle.importKey("raw", Buffer.from(secret), hmac, false, ["sign"]);
    const mac = new Uint8Array(await crypto.subtle.sign(hmac, key, bytes));
    found = isAnyOf(mac, macs) || found;
  }
  return found;
}

/** Tells whether one of the signatures belongs to the content, under any of the keys. */
export async function matchesSignature(
  algorithm: SignatureAlgorithm,
  keys: readonly KeyObject[],
  content: readonly Uint8Array[],
  signatures: readonly Uint8Array[],
): Promise<boolean> {
  const bytes = Buffer.concat(content);
  const parameters = ALGORITHMS[algorithm];
  for (const key of keys) {
    const spki = Buffer.from(key.export({ format: "der", type: "spki" }));
    const own = await crypto.subtle.importKey("spki", spki, parameters, false, ["verify"]);
    for (const signature of signatures) {
      if (await crypto.subtle.verify(parameters, own, Buffer.from(signature), bytes)) return true;
    }
  }
  return false;
}

/**
 * Reads an ECDSA signature in DER: SEQUENCE { INTEGER r, INTEGER s } (RFC 3279 section 2.2.3).
 *
 * @returns r and s side by side, as WebCrypto takes them; undefined where it is not such a signature
 */
export function rawOfDer(der: Uint8Array): Uint8Array | undefined {
  const [sequence, length, ...integers] = der;
  if (sequence !== SEQUENCE || length !== integers.length) return undefined;
  const r = readInteger(integers, 0);
  const s = r && readInteger(integers, r.end);
  if (!s || s.end !== integers.length) return undefined;
  return Uint8Array.from([...r.bytes, ...s.bytes]);
}

function readInteger(from: readonly number[], start: number) {
  const [tag, length = 0] = from.slice(start);
  const end = start + 2 + length;
  const digits = from.slice(start + 2, end);
  if (tag !== INTEGER || digits.length !== length || length === 0) return undefined;
  // A leading zero only marks the number as positive.
  const significant = digits[0] === 0 ? digits.slice(1) : digits;
  if (significant.length > P256_BYTES) return undefined;
  const padding = new Array<number>(P256_BYTES - significant.length).fill(0);
  return { bytes: [...padding, ...significant], end };
}
