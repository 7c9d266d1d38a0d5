/**
 * Keys of signing schemes: secrets, public keys and private keys, in the form in which a provider
 * shows them, or as PEM or JWK.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { messageOf } from "../../platform/errors.ts";
import { decode } from "./encoding.ts";
import type { Scheme } from "./scheme.ts";

/** RFC 7518 section 3.3 wants at least this much of an RSA key. */
const RSA_BITS_MIN = 2048;
const ED25519_BYTES = 32;

/** What a private key of Standard Webhooks begins with. */
const PRIVATE_KEY_PREFIX = /^whsk_/;

/** What the algorithm of a key is called in node:crypto. */
const KEY_TYPES: Readonly<Record<string, string>> = {
  ed25519: "ed25519",
  ecdsa_p256: "ec",
  rsa_sha256: "rsa",
};

/** A key as an operator writes it. */
export type KeySetting = string | object;

/** The parts of a scheme that say how a key is written. */
export type KeyForm = Pick<Scheme, "algorithm" | "key_encoding" | "key_prefix">;

/**
 * Reads a secret: without the prefix, where it has one, and decoded.
 *
 * @returns its bytes; undefined when it is not of the encoding
 */
export function decodeSecret(text: string, form: KeyForm): Uint8Array | undefined {
  const bare = withoutPrefix(text, form);
  if (form.key_encoding === "utf8") return new TextEncoder().encode(bare);
  return decode(bare, form.key_encoding);
}

/**
 * Reads a public key.
 *
 * @returns the key, or what is wrong with it
 */
export function readVerificationKey(setting: KeySetting, form: KeyForm): KeyObject | string {
  try {
    if (isPrivate(setting)) return "Must be a public key: this is a private one";
    const read = readForm(setting, form);
    if ("pem" in read) return checkKey(createPublicKey(read.pem), form);
    if ("jwk" in read) return checkKey(createPublicKey({ key: read.jwk, format: "jwk" }), form);
    const key = isEd25519(form) && read.bytes.length === ED25519_BYTES
      ? createPublicKey({ key: ed25519Jwk(read.bytes), format: "jwk" })
      : createPublicKey({ key: Buffer.from(read.bytes), format: "der", type: "spki" });
    return checkKey(key, form);
  } catch (error) {
    return `Must be a public key as PEM, JWK or ${describeForm(form)}: ${messageOf(error)}`;
  }
}

/**
 * Reads a private key, to sign as a sender does.
 *
 * @throws {TypeError} when it is none of the algorithm
 */
export function readSigningKey(setting: KeySetting, form: KeyForm): KeyObject {
  const read = readForm(setting, form);
  const key = checkKey(
    "bytes" in read
      ? privateKeyOf(read.bytes, form)
      : "pem" in read
      ? createPrivateKey(read.pem)
      : createPrivateKey({ key: read.jwk, format: "jwk" }),
    form,
  );
  if (typeof key === "string") throw new TypeError(key);
  return key;
}

function privateKeyOf(bytes: Uint8Array, form: KeyForm): KeyObject {
  if (isEd25519(form) && bytes.length === 2 * ED25519_BYTES) {
    // As it is often shown: the seed, then the public key.
    const seed = bytes.subarray(0, ED25519_BYTES);
    const jwk = ed25519Jwk(bytes.subarray(ED25519_BYTES), seed);
    return createPrivateKey({ key: jwk, format: "jwk" });
  }
  return createPrivateKey({ key: Buffer.from(bytes), format: "der", type: "pkcs8" });
}

/** The form of a key, by what it looks like. */
function readForm(
  setting: KeySetting,
  form: KeyForm,
): { pem: string } | { jwk: JsonWebKey } | { bytes: Uint8Array } {
  // A copy; that it is a key, node:crypto finds out.
  if (typeof setting === "object") return { jwk: { ...setting } };
  const text = setting.trim();
  if (text.startsWith("{")) return readForm(JSON.parse(text), form);
  if (text.includes("-----BEGIN")) return { pem: text };
  const encoding = form.key_encoding === "utf8" ? "base64" : form.key_encoding;
  const bare = withoutPrefix(text, form).replace(PRIVATE_KEY_PREFIX, "");
  const bytes = decode(bare, encoding);
  if (bytes === undefined) throw new TypeError(`it is not ${encoding}`);
  return { bytes };
}

function ed25519Jwk(x: Uint8Array, d?: Uint8Array): JsonWebKey {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
  return { kty: "OKP", crv: "Ed25519", x: text(x), ...(d && { d: text(d) }) };
}

function isEd25519({ algorithm }: KeyForm): boolean {
  return algorithm === "ed25519";
}

function checkKey(key: KeyObject, { algorithm }: KeyForm): KeyObject | string {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  const curve = details?.namedCurve;
  if (type !== KEY_TYPES[algorithm] || (type === "ec" && curve !== "prime256v1")) {
    return `Must be a key for ${algorithm}: this is one of ${
      [type, curve].filter(Boolean).join(" ")
    }`;
  }
  const bits = details?.modulusLength ?? RSA_BITS_MIN;
  if (bits >= RSA_BITS_MIN) return key;
  return `Must have at least ${RSA_BITS_MIN} bits: current value is ${bits}`;
}

function isPrivate(setting: KeySetting): boolean {
  if (typeof setting === "object") return "d" in setting;
  return setting.includes("PRIVATE KEY") || /^\s*\{.*"d"\s*:/s.test(setting);
}

function withoutPrefix(text: string, { key_prefix }: KeyForm): string {
  return text.startsWith(key_prefix) ? text.slice(key_prefix.length) : text;
}

function describeForm({ algorithm, key_encoding }: KeyForm): string {
  const encoding = key_encoding === "utf8" ? "base64" : key_encoding;
  return algorithm === "ed25519" ? `${encoding} of 32 bytes` : `${encoding} of its DER`;
}
