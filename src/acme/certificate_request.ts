/**
 * Keys of certificates, requests for certificates (PKCS #10, RFC 2986), and a certificate that is signed by its own
 * key, for the time before there is another one.
 *
 * @module
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { bits, der, integer, objectId, octets, sequence, utcTime } from "./der.ts";
import { addressBytes, isAddress } from "./names.ts";

const ECDSA_WITH_SHA256 = sequence(objectId("1.2.840.10045.4.3.2"));
const EXTENSION_REQUEST = objectId("1.2.840.113549.1.9.14");
const SUBJECT_ALTERNATIVE_NAME = objectId("2.5.29.17");
const COMMON_NAME = objectId("2.5.4.3");
const DAY_MS = 86_400_000;
const encoder = new TextEncoder();

/** Makes a private key of the curve P-256, in PEM (PKCS #8). */
export function newCertificateKey(): string {
  const { privateKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  return privateKey;
}

/** Makes the request for a certificate of some names, in DER. */
export function certificateRequest(names: readonly string[], key: string): Uint8Array<ArrayBuffer> {
  const extensions = sequence(namesExtension(names));
  const attribute = sequence(EXTENSION_REQUEST, der(0x31, extensions));
  const version = integer(Uint8Array.of(0));
  const content = sequence(version, sequence(), publicKeyOf(key), der(0xa0, attribute));
  return signed(content, key);
}

/** Makes a certificate that nobody trusts, in PEM: its key signs it. */
export function selfSigned(names: readonly string[], key: string, now_ms: number): string {
  const version3 = der(0xa0, integer(Uint8Array.of(2)));
  const serial = crypto.getRandomValues(new Uint8Array(16));
  serial[0] = 1;
  const text = der(0x0c, encoder.encode("Hooklaunch waits for its certificate"));
  const name = sequence(der(0x31, sequence(COMMON_NAME, text)));
  const validity = sequence(utcTime(now_ms - DAY_MS), utcTime(now_ms + 7 * DAY_MS));
  const extensions = der(0xa3, sequence(namesExtension(names)));
  const content = sequence(
    version3,
    integer(serial),
    ECDSA_WITH_SHA256,
    name,
    validity,
    name,
    publicKeyOf(key),
    extensions,
  );
  const lines = signed(content, key).toBase64().match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

function namesExtension(names: readonly string[]): Uint8Array {
  const list = names.map((name) =>
    isAddress(name) ? der(0x87, addressBytes(name)) : der(0x82, encoder.encode(name))
  );
  return sequence(SUBJECT_ALTERNATIVE_NAME, octets(sequence(...list)));
}

function publicKeyOf(key: string): Uint8Array {
  return createPublicKey(createPrivateKey(key)).export({ type: "spki", format: "der" });
}

function signed(content: Uint8Array, key: string): Uint8Array<ArrayBuffer> {
  return sequence(content, ECDSA_WITH_SHA256, bits(sign("sha256", content, key)));
}
