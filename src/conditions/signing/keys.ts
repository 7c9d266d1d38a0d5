/**
 * Keys of signing schemes, as PEM or JWK or as the provider shows them.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { type KeySetting, type OwnForm, readPrivateKey, readPublicKey } from "../keys.ts";
import { decode } from "./encoding.ts";
import type { Scheme } from "./scheme.ts";

const ED25519_BYTES = 32;

/** The beginning of a private key of Standard Webhooks. */
const PRIVATE_KEY_PREFIX = /^whsk_/;

/** The names of the algorithms' keys in node:crypto. */
const KEY_TYPES: Readonly<Record<string, string>> = {
  ed25519: "ed25519",
  ecdsa_p256: "ec",
  rsa_sha256: "rsa",
  rsa_sha1: "rsa",
};

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
  const read = readPublicKey(setting, ownForm(form, publicKeyOf));
  return typeof read === "string" ? read : findMismatch(read.key, form) ?? read.key;
}

/**
 * Reads a private key, to sign as a sender does.
 *
 * @throws {TypeError} when it is not a key of the algorithm
 */
export function readSigningKey(setting: KeySetting, form: KeyForm): KeyObject {
  const read = readPrivateKey(setting, ownForm(form, privateKeyOf));
  const problem = typeof read === "string" ? read : findMismatch(read, form);
  if (typeof read === "string" || problem !== undefined) throw new TypeError(problem);
  return read;
}

/** The form in which a provider shows a key: its bytes in the scheme's encoding. */
function ownForm(
  form: KeyForm,
  keyOf: (bytes: Uint8Array, form: KeyForm) => KeyObject,
): OwnForm {
  const encoding = form.key_encoding === "utf8" ? "base64" : form.key_encoding;
  const content = isEd25519(form) ? "32 bytes" : "its DER";
  return {
    name: `${encoding} of ${content}`,
    read(text) {
      const bytes = decode(withoutPrefix(text, form).replace(PRIVATE_KEY_PREFIX, ""), encoding);
      if (bytes === undefined) throw new TypeError(`it is not ${encoding}`);
      return keyOf(bytes, form);
    },
  };
}

function publicKeyOf(bytes: Uint8Array, form: KeyForm): KeyObject {
  return isEd25519(form) && bytes.length === ED25519_BYTES
    ? createPublicKey({ key: ed25519Jwk(bytes), format: "jwk" })
    : createPublicKey({ key: Buffer.from(bytes), format: "der", type: "spki" });
}

function privateKeyOf(bytes: Uint8Array, form: KeyForm): KeyObject {
  if (isEd25519(form) && bytes.length === 2 * ED25519_BYTES) {
    // The usual form: the seed, then the public key.
    const seed = bytes.subarray(0, ED25519_BYTES);
    const jwk = ed25519Jwk(bytes.subarray(ED25519_BYTES), seed);
    return createPrivateKey({ key: jwk, format: "jwk" });
  }
  return createPrivateKey({ key: Buffer.from(bytes), format: "der", type: "pkcs8" });
}

function ed25519Jwk(x: Uint8Array, d?: Uint8Array): JsonWebKey {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
  return { kty: "OKP", crv: "Ed25519", x: text(x), ...(d && { d: text(d) }) };
}

function isEd25519({ algorithm }: KeyForm): boolean {
  return algorithm === "ed25519";
}

/** Says why a key is not one of the algorithm; undefined where it is. */
function findMismatch(key: KeyObject, { algorithm }: KeyForm): string | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  const curve = details?.namedCurve;
  if (type === KEY_TYPES[algorithm] && (type !== "ec" || curve === "prime256v1")) return undefined;
  const found = [type, curve].filter(Boolean).join(" ");
  return `Must be a key for ${algorithm}: this is one of ${found}`;
}

function withoutPrefix(text: string, { key_prefix }: KeyForm): string {
  return text.startsWith(key_prefix) ? text.slice(key_prefix.length) : text;
}
