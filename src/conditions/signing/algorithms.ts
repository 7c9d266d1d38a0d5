/**
 * Computing and verifying signatures over pieces of bytes.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { type KeyObject, sign, verify } from "node:crypto";
import { isAnyOf } from "../secret.ts";
import { prepareMac } from "./mac.ts";
import { MAC_BYTES, type MacAlgorithm, type Scheme } from "./scheme.ts";

/** Of Ed25519, and of r and s side by side (IEEE P1363). */
const RAW_SIGNATURE_BYTES = 64;
/** The tag of an ASN.1 SEQUENCE, as which DER writes r and s. */
const SEQUENCE = 0x30;
/** Of RSA keys of 2,048 to 8,192 bits. */
const RSA_SIGNATURE_BYTES = { min: 256, max: 1024 };

/** What is needed to make one signature. */
export type Maker = (content: readonly Uint8Array[]) => Uint8Array;

/** Whether one of the signatures belongs to the content, under any key. */
export type Matcher = (
  content: readonly Uint8Array[],
  signatures: readonly Uint8Array[],
) => boolean;

/** Whether the algorithm is an HMAC. */
export function isMac(algorithm: Scheme["algorithm"]): algorithm is MacAlgorithm {
  return algorithm in MAC_BYTES;
}

/** Matches HMACs. All secrets are tried, so that the time does not tell which one it is. */
export function macMatcher(algorithm: MacAlgorithm, secrets: readonly Uint8Array[]): Matcher {
  const macs = secrets.map((secret) => prepareMac(algorithm, secret));
  return (content, signatures) => {
    let found = false;
    for (const mac of macs) found = isAnyOf(mac(content), signatures) || found;
    return found;
  };
}

/** Matches signatures that a private key made. */
export function signatureMatcher(scheme: Scheme, keys: readonly KeyObject[]): Matcher {
  const hash = hashOf(scheme);
  const dsaEncoding = dsaEncodingOf(scheme);
  return (content, signatures) => {
    const bytes = joined(content);
    return keys.some((key) =>
      signatures.some((signature) => verify(hash, bytes, { key, dsaEncoding }, signature))
    );
  };
}

/** Makes HMACs. */
export function macMaker(algorithm: MacAlgorithm, secret: Uint8Array): Maker {
  const mac = prepareMac(algorithm, secret);
  return (content) => mac(content).slice();
}

/** Makes signatures, as they are sent. */
export function signatureMaker(scheme: Scheme, key: KeyObject): Maker {
  const dsaEncoding = dsaEncodingOf(scheme);
  return (content) => sign(hashOf(scheme), joined(content), { key, dsaEncoding });
}

/** Whether bytes can be a signature at all, by their length and how they begin. */
export function isWellFormed(bytes: Uint8Array, scheme: Scheme): boolean {
  if (isDer(scheme)) return bytes[0] === SEQUENCE && bytes[1] === bytes.length - 2;
  const length = signatureLength(scheme);
  if (length !== undefined) return bytes.length === length;
  const { min, max } = RSA_SIGNATURE_BYTES;
  return min <= bytes.length && bytes.length <= max;
}

/** How many bytes a signature has as it is sent; undefined where that is not always the same. */
export function signatureLength(scheme: Scheme): number | undefined {
  if (isMac(scheme.algorithm)) return MAC_BYTES[scheme.algorithm];
  return isDer(scheme) || scheme.algorithm === "rsa_sha256" ? undefined : RAW_SIGNATURE_BYTES;
}

function isDer({ algorithm, signature_format }: Scheme): boolean {
  return algorithm === "ecdsa_p256" && signature_format === "der";
}

/** Ed25519 hashes by itself. */
function hashOf({ algorithm }: Scheme): string | null {
  return algorithm === "ed25519" ? null : "sha256";
}

/** How r and s are written; it says nothing of other algorithms. */
function dsaEncodingOf({ signature_format }: Scheme): "der" | "ieee-p1363" {
  return signature_format === "der" ? "der" : "ieee-p1363";
}

function joined(content: readonly Uint8Array[]): Uint8Array {
  const [only, ...others] = content;
  return only !== undefined && others.length === 0 ? only : Buffer.concat(content);
}
