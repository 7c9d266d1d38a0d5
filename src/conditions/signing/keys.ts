/**
 * Keys of signing schemes: secrets, public keys and private keys, in the form in which a provider
 * shows them, or as PEM or JWK.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { messageOf } from "../../errors.ts";
import { decode } from "../encoding.ts";
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
    return checkKey(createPublicKey(keyInput(setting, form, "public")), form);
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
  const key = checkKey(createPrivateKey(keyInput(setting, form, "private")), form);
  if (typeof key === "string") throw new TypeError(key);
  return key;
}

type KeyInput = Parameters<typeof createPublicKey>[0] & Parameters<typeof createPrivateKey>[0];

function keyInput(setting: KeySetting, form: KeyForm, side: "public" | "private"): KeyInput {
  if (typeof setting === "object") {
    // That it is a JWK, the caller finds out: node:crypto throws when it is none.
    return { key: { ...setting }, format: "jwk" } as KeyInput;
  }
  const text = setting.trim();
  if (text.startsWith("{")) return keyInput(JSON.parse(text), form, side);
  if (text.includes("-----BEGIN")) return text;
  const encoding = form.key_encoding === "utf8" ? "base64" : form.key_encoding;
  const bare = withoutPrefix(text, form).replace(PRIVATE_KEY_PREFIX, "");
  const bytes = decode(bare, encoding);
  if (bytes === undefined) throw new TypeError(`it is not ${encoding}`);
  if (form.algorithm === "ed25519") {
    if (side === "public" && bytes.length === ED25519_BYTES) return ed25519Jwk(bytes);
    // A private key as it is often shown: the seed, then the public key.
    if (side === "private" && bytes.length === 2 * ED25519_BYTES) {
      return ed25519Jwk(bytes.subarray(ED25519_BYTES), bytes.subarray(0, ED25519_BYTES));
    }
  }
  const type = side === "public" ? "spki" : "pkcs8";
  return { key: Buffer.from(bytes), format: "der", type } as KeyInput;
}

function ed25519Jwk(x: Uint8Array, d?: Uint8Array): KeyInput {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
  const jwk = { kty: "OKP", crv: "Ed25519", x: text(x), ...(d && { d: text(d) }) };
  return { key: jwk, format: "jwk" } as KeyInput;
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
