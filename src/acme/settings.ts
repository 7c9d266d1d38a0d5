/**
 * The settings by which the service gets its certificate.
 *
 * @module
 */
import { InvalidInputError } from "../platform/errors.ts";
import { isBaseUrl } from "../platform/network/urls.ts";
import { isAddress, readNames } from "./names.ts";

/** The directory of Let's Encrypt. */
export const LETS_ENCRYPT = "https://acme-v02.api.letsencrypt.org/directory";
/** The port at which an authority looks for the answers to its challenges (RFC 8555 section 8.3). */
export const CHALLENGE_PORT = 80;

/** The settings by which the service gets its certificate. */
export interface AcmeSettings {
  /** Domains and IP addresses, at least one. */
  names: readonly string[];
  /** The URL of the authority's directory. */
  directory: string;
  /** The address to which an authority may write. */
  email?: string;
  /** Certificates that sign that of the authority's server, PEM. */
  ca?: string;
  /** The port on which challenges are answered. */
  port: number;
  /** The account that the authority's own customers have (RFC 8555 section 7.3.4). */
  eab?: ExternalAccount;
  /** A shell command that sets the DNS record of a challenge; challenges are answered on the port without it. */
  dnsHook?: string;
}

/** An account at an authority that wants one before it issues certificates. */
export interface ExternalAccount {
  /** The id of its key. */
  kid: string;
  /** Its key, in base64 or base64url. It is a secret. */
  hmac: string;
}

const EMAIL = /^[^\s@,?]+@[^\s@,?]+$/;

/**
 * Checks the settings, and returns them with their names as they are ordered.
 *
 * @throws {InvalidInputError} when one is wrong
 */
export function checkAcme(settings: AcmeSettings): AcmeSettings {
  const { directory, email, dnsHook, eab } = settings;
  const read = readNames(settings.names);
  if ("wrong" in read) throw new InvalidInputError("--acme", read.wrong);
  const { names } = read;
  const wildcard = names.find((name) => name.startsWith("*."));
  if (wildcard !== undefined && dnsHook === undefined) {
    const detail = `Expected --acme-dns-hook for ${wildcard}: only a DNS record proves it`;
    throw new InvalidInputError("--acme", detail);
  }
  const address = names.find(isAddress);
  if (address !== undefined && dnsHook !== undefined) {
    const detail =
      `Expected domains alone with it, found ${address}: no DNS record proves an address`;
    throw new InvalidInputError("--acme-dns-hook", detail);
  }
  if (!isBaseUrl(directory) || !directory.startsWith("https://")) {
    const detail = `Expected the URL of a directory such as ${LETS_ENCRYPT}, found "${directory}"`;
    throw new InvalidInputError("--acme-directory", detail);
  }
  if (email !== undefined && !EMAIL.test(email)) {
    throw new InvalidInputError("--acme-email", `Expected an address of mail, found "${email}"`);
  }
  if (eab !== undefined && !/^[\x21-\x7e]+$/.test(eab.kid)) {
    throw new InvalidInputError("--acme-eab-kid", "Expected printable ASCII without blanks");
  }
  if (eab !== undefined && hmacKey(eab) === undefined) {
    // It is a secret: what was found is not shown.
    throw new InvalidInputError("--acme-eab-hmac", "Expected base64url, found another text");
  }
  return { ...settings, names };
}

/** Returns the bytes of an external account's key; undefined where they are in no base64. */
export function hmacKey({ hmac }: ExternalAccount): Uint8Array | undefined {
  const text = hmac.trim().replaceAll("+", "-").replaceAll("/", "_");
  try {
    const bytes = Uint8Array.fromBase64(text, { alphabet: "base64url" });
    return bytes.length === 0 ? undefined : bytes;
  } catch {
    return undefined;
  }
}
