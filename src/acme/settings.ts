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
  /** A shell command that sets the DNS record of a challenge; challenges are answered on the port without it. */
  dnsHook?: string;
}

const EMAIL = /^[^\s@,?]+@[^\s@,?]+$/;

/**
 * Checks the settings, and returns them with their names as they are ordered.
 *
 * @throws {InvalidInputError} when one is wrong
 */
export function checkAcme(settings: AcmeSettings): AcmeSettings {
  const { directory, email, dnsHook } = settings;
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
  return { ...settings, names };
}
