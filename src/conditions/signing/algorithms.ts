/**
 * Computing and verifying signatures over pieces of bytes.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { type KeyObject, sign, verify } from "node:crypto";
import { isAnyOf } from "../secret.ts";
import { derToRaw, rawToDer } from "./der.ts";
import { prepareMac } from "./mac.ts";
import { MAC_BYTES, type MacAlgorithm, type Scheme } from "./scheme.ts";

const ED25519_SIGNATURE_BYTES = 64;
const ECDSA_SIGNATURE_BYTES = 64;
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
export function signatureMatcher(
  algorithm: Scheme["algorithm"],
  keys: readonly KeyObject[],
): Matcher {
  return (content, signatures) => {
    const bytes = joined(content);
    return keys.some((key) =>
      signatures.some((signature) => verify(hashOf(algorithm), bytes, keyWith(key), signature))
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
  return (content) => {
    const signature = sign(hashOf(scheme.algorithm), joined(content), keyWith(key));
    return isDer(scheme) ? rawToDer(signature) : signature;
  };
}

/** Makes of a signature as it was sent one as it is compared; undefined when it cannot be one. */
export function normalizeSignature(bytes: Uint8Array, scheme: Scheme): Uint8Array | undefined {
  const { algorithm } = scheme;
  if (isMac(algorithm)) return bytes.length === MAC_BYTES[algorithm] ? bytes : undefined;
  switch (algorithm) {
    case "ed25519":
      return bytes.length === ED25519_SIGNATURE_BYTES ? bytes : undefined;
    case "ecdsa_p256":
      if (isDer(scheme)) return derToRaw(bytes);
      return bytes.length === ECDSA_SIGNATURE_BYTES ? bytes : undefined;
    case "rsa_sha256": {
      const { min, max } = RSA_SIGNATURE_BYTES;
      return min <= bytes.length && bytes.length <= max ? bytes : undefined;
    }
  }
}

/** How many bytes a signature has as it is sent; undefined where that is not always the same. */
export function signatureLength(scheme: Scheme): number | undefined {
  if (isMac(scheme.algorithm)) return MAC_BYTES[scheme.algorithm];
  return isDer(scheme) || scheme.algorithm === "rsa_sha256" ? undefined : ED25519_SIGNATURE_BYTES;
}

function isDer({ algorithm, signature_format }: Scheme): boolean {
  return algorithm === "ecdsa_p256" && signature_format === "der";
}

/** Ed25519 hashes by itself. */
function hashOf(algorithm: Scheme["algorithm"]): string | null {
  return algorithm === "ed25519" ? null : "sha256";
}

function keyWith(key: KeyObject): { key: KeyObject; dsaEncoding: "ieee-p1363" } {
  return { key, dsaEncoding: "ieee-p1363" };
}

function joined(content: readonly Uint8Array[]): Uint8Array {
  const [only, ...others] = content;
  return only !== undefined && others.length === 0 ? only : Buffer.concat(content);
}
