/**
 * Facts of a certificate that is served, and the time of its renewal.
 *
 * @module
 */
import { X509Certificate } from "node:crypto";

/** The facts of a certificate. */
export interface Leaf {
  from_ms: number;
  until_ms: number;
  /** The time at which it is renewed where the authority says nothing: two thirds of its lifetime. */
  due_ms: number;
  /** The id by which the authority knows it (RFC 9773 section 4.1); undefined when it names no issuer. */
  id: string | undefined;
}

const LIFETIME_SHARE = 2 / 3;
/** The extension authorityKeyIdentifier (RFC 5280 section 4.2.1.1), to the tag of its content. */
const AUTHORITY_KEY = [0x06, 0x03, 0x55, 0x1d, 0x23, 0x04];
const KEY_IDENTIFIER = 0x80;

/** Reads the first certificate of a chain in PEM. */
export function readLeaf(chain: string): Leaf {
  const certificate = new X509Certificate(chain);
  const from_ms = Date.parse(certificate.validFrom);
  const until_ms = Date.parse(certificate.validTo);
  return {
    from_ms,
    until_ms,
    due_ms: from_ms + LIFETIME_SHARE * (until_ms - from_ms),
    id: idOf(certificate),
  };
}

function idOf({ raw, serialNumber }: X509Certificate): string | undefined {
  const bytes = new Uint8Array(raw);
  const at = bytes.findIndex((_, index) =>
    AUTHORITY_KEY.every((byte, offset) => bytes[index + offset] === byte)
  );
  if (at < 0) return undefined;
  // OCTET STRING and SEQUENCE with a length of one byte each, then the key's identifier.
  const start = at + AUTHORITY_KEY.length + 1 + 2;
  const length = bytes[start + 1] ?? 0;
  if (bytes[start] !== KEY_IDENTIFIER || length > 0x7f) return undefined;
  const key = bytes.slice(start + 2, start + 2 + length);
  const even = serialNumber.length % 2 === 0 ? serialNumber : `0${serialNumber}`;
  const serial = Uint8Array.fromHex(even);
  // The content of its INTEGER in DER.
  const signed = (serial[0] ?? 0) >= 0x80 ? Uint8Array.of(0, ...serial) : serial;
  return `${base64url(key)}.${base64url(signed)}`;
}

function base64url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}
