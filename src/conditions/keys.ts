/**
 * Reading public and private keys as PEM or JWK, or in a form of a provider's own.
 *
 * @module
 */
import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { messageOf } from "../platform/errors.ts";

/** RFC 7518 sections 3.3 and 3.5 want at least this much of an RSA key. */
const RSA_BITS_MIN = 2048;

/** A key as an operator writes it: a text, or a JWK as an object. */
export type KeySetting = string | object;

/** A form of keys beside PEM and JWK. */
export interface OwnForm {
  /** Its name, to end a list with. */
  name: string;
  /** @throws {TypeError} when the text is not of the form */
  read(text: string): KeyObject;
}

/** A public key. */
interface PublicKey {
  key: KeyObject;
  /** The JWK that it was written as. */
  jwk?: JsonWebKey;
}

/**
 * Reads a public key: PEM (SPKI, PKCS #1, or an X.509 certificate, of which only the key is used), a JWK
 * as an object or as JSON, or the form of its own.
 *
 * @returns the key, or what is wrong with it
 */
export function readPublicKey(setting: KeySetting, own?: OwnForm): PublicKey | string {
  try {
    const written = formOf(setting);
    if (isPrivate(written)) return "Must be a public key: this is a private one";
    if ("jwk" in written) {
      const { jwk } = written;
      if (jwk.kty === "oct") return "Must be a public key: a secret belongs into 'secrets'";
      const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
      return findWeakness(key) ?? { key, jwk };
    }
    const key = written.pem || !own ? createPublicKey(written.text) : own.read(written.text);
    return findWeakness(key) ?? { key };
  } catch (error) {
    const forms = own ? `PEM, JWK or ${own.name}` : "PEM or JWK";
    return `Must be a public key as ${forms}: ${messageOf(error)}`;
  }
}

/**
 * Reads a private key in the same forms, PKCS #8 and PKCS #1 among them.
 *
 * @returns the key, or what is wrong with it
 * @throws {TypeError} when it is no private key at all
 */
export function readPrivateKey(setting: KeySetting, own: OwnForm): KeyObject | string {
  const written = formOf(setting);
  const key = "jwk" in written
    ? createPrivateKey({ key: written.jwk, format: "jwk" })
    : written.pem
    ? createPrivateKey(written.text)
    : own.read(written.text);
  return findWeakness(key) ?? key;
}

/** A key by its looks. */
type Written = { jwk: JsonWebKey } | { text: string; pem: boolean };

function formOf(setting: KeySetting): Written {
  // A copy; node:crypto finds out whether it is a key.
  if (typeof setting === "object") return { jwk: structuredClone({ ...setting }) };
  const text = setting.trim();
  if (text.startsWith("{")) return { jwk: JSON.parse(text) };
  return { text, pem: text.includes("-----BEGIN") };
}

function isPrivate(written: Written): boolean {
  return "jwk" in written ? "d" in written.jwk : written.text.includes("PRIVATE KEY");
}

function findWeakness({ asymmetricKeyDetails }: KeyObject): string | undefined {
  const bits = asymmetricKeyDetails?.modulusLength ?? RSA_BITS_MIN;
  return bits < RSA_BITS_MIN
    ? `Must have at least ${RSA_BITS_MIN} bits: current value is ${bits}`
    : undefined;
}
