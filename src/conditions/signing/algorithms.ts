/**
 * The algorithms of signatures: making and verifying them over pieces of bytes.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHmac, type KeyObject, sign, verify } from "node:crypto";
import { isAnyOf } from "../secret.ts";
import { MAC_BYTES, type MacAlgorithm, type Scheme, type SignatureAlgorithm } from "./scheme.ts";
import { matchesMac, matchesSignature, rawOfDer } from "./webcrypto.ts";

/** The length of an Ed25519 signature, and of r and s side by side (IEEE P1363). */
const RAW_SIGNATURE_BYTES = 64;
/** The first byte of r and s in DER: the tag of an ASN.1 SEQUENCE. */
const SEQUENCE = 0x30;
/** The lengths of signatures by RSA keys of 2,048 to 8,192 bits. */
const RSA_SIGNATURE_BYTES = { min: 256, max: 1024 };

/** Makes one signature. */
export type Maker = (content: readonly Uint8Array[]) => Uint8Array;

/** Tells whether one of the signatures belongs to the content, under any key. */
export interface Matcher {
  matches(content: readonly Uint8Array[], signatures: readonly Uint8Array[]): boolean;
  /** The same off the event loop, for long contents. */
  matchesLong(
    content: readonly Uint8Array[],
    signatures: readonly Uint8Array[],
  ): Promise<boolean>;
}

/** Tells whether the algorithm is an HMAC. */
export function isMac(algorithm: Scheme["algorithm"]): algorithm is MacAlgorithm {
  return algorithm in MAC_BYTES;
}

/** Matches HMACs. Each secret makes one, and all are tried, so that the time does not tell which one fits. */
export function macMatcher(algorithm: MacAlgorithm, secrets: readonly Uint8Array[]): Matcher {
  return {
    matches(content, signatures) {
      let found = false;
      for (const secret of secrets) {
        found = isAnyOf(macOf(algorithm, secret, content), signatures) || found;
      }
      return found;
    },
    matchesLong: (content, signatures) => matchesMac(algorithm, secrets, content, signatures),
  };
}

/** Matches signatures that a private key made. */
export function signatureMatcher(
  scheme: Scheme & { algorithm: SignatureAlgorithm },
  keys: readonly KeyObject[],
): Matcher {
  const hash = hashOf(scheme);
  const dsaEncoding = dsaEncodingOf(scheme);
  return {
    matches(content, signatures) {
      const bytes = joined(content);
      return keys.some((key) =>
        signatures.some((signature) => verify(hash, bytes, { key, dsaEncoding }, signature))
      );
    },
    async matchesLong(content, signatures) {
      const raw = isDer(scheme) ? signatures.map(rawOfDer) : signatures;
      const usable = raw.filter((signature) => signature !== undefined);
      return await matchesSignature(scheme.algorithm, keys, content, usable);
    },
  };
}

export function macMaker(algorithm: MacAlgorithm, secret: Uint8Array): Maker {
  return (content) => macOf(algorithm, secret, content);
}

/** Makes signatures in the form in which they are sent. */
export function signatureMaker(scheme: Scheme, key: KeyObject): Maker {
  const dsaEncoding = dsaEncodingOf(scheme);
  return (content) => sign(hashOf(scheme), joined(content), { key, dsaEncoding });
}

function macOf(
  algorithm: MacAlgorithm,
  secret: Uint8Array,
  content: readonly Uint8Array[],
): Uint8Array {
  const mac = createHmac(algorithm, secret);
  for (const piece of content) mac.update(piece);
  return mac.digest();
}

/** Tells whether bytes can be a signature at all, by their length and their first bytes. */
export function isWellFormed(bytes: Uint8Array, scheme: Scheme): boolean {
  if (isDer(scheme)) return bytes[0] === SEQUENCE && bytes[1] === bytes.length - 2;
  const length = signatureLength(scheme);
  if (length !== undefined) return bytes.length === length;
  const { min, max } = RSA_SIGNATURE_BYTES;
  return min <= bytes.length && bytes.length <= max;
}

/** Returns the bytes of a signature as it is sent; undefined where their number varies. */
export function signatureLength(scheme: Scheme): number | undefined {
  if (isMac(scheme.algorithm)) return MAC_BYTES[scheme.algorithm];
  return isDer(scheme) || scheme.algorithm.startsWith("rsa_") ? undefined : RAW_SIGNATURE_BYTES;
}

function isDer({ algorithm, signature_format }: Scheme): boolean {
  return algorithm === "ecdsa_p256" && signature_format === "der";
}

/** Ed25519 hashes by itself. */
function hashOf({ algorithm }: Scheme): string | null {
  if (algorithm === "ed25519") return null;
  return algorithm === "rsa_sha1" ? "sha1" : "sha256";
}

/** The form of r and s; other algorithms ignore it. */
function dsaEncodingOf({ signature_format }: Scheme): "der" | "ieee-p1363" {
  return signature_format === "der" ? "der" : "ieee-p1363";
}

function joined(content: readonly Uint8Array[]): Uint8Array {
  const [only, ...others] = content;
  return only !== undefined && others.length === 0 ? only : Buffer.concat(content);
}
