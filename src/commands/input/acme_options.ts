/**
 * The options by which the service gets its certificate by itself.
 *
 * @module
 */
import type { Command, Option } from "commander";
import { isIPv6 } from "node:net";
import {
  type AcmeSettings,
  CHALLENGE_PORT,
  checkAcme,
  type ExternalAccount,
  LETS_ENCRYPT,
} from "../../acme/settings.ts";
import { resolveSecret } from "../../conditions/secret.ts";
import { InvalidInputError } from "../../platform/errors.ts";
import { environment } from "./environment.ts";
import { list, option, readText, wholeNumber } from "./options.ts";

/** The values of the options. */
export interface AcmeOptions {
  acme?: string[];
  acmeEmail?: string;
  acmeDirectory?: string;
  acmeCa?: string;
  acmeEabHmac?: string;
  acmeEabKid?: string;
  acmePort: number;
  acmeDnsHook?: string;
}

/** With a certificate of its own a service is on the Internet by itself. */
const PUBLIC_HOST = "0.0.0.0";
/** All addresses of IPv6, and of IPv4, too. */
const PUBLIC_HOST_6 = "::";
const HTTPS_PORT = 443;

/** Makes the options. */
export function acmeOptions(): Option[] {
  return [
    option(
      "--acme <name>",
      "get a certificate for a domain or an IP address and listen on 0.0.0.0 port 443 (repeatable; separate several in the variable with commas)",
    ).argParser(list),
    option("--acme-email <address>", "with --acme, where the certificate authority may write to"),
    option("--acme-directory <url>", "the directory of the authority; Let's Encrypt without it"),
    option("--acme-eab-kid <id>", "the id of the key of an account that the authority wants first"),
    option(
      "--acme-eab-hmac <key>",
      "that key: {file:/path}, {env:NAME}, or in the variable, as others see the arguments of a command",
    ),
    option("--acme-ca <file>", "certificates that sign that of the authority's server, PEM"),
    option("--acme-port <number>", "the port on which its challenges are answered")
      .argParser(wholeNumber(1, 65_535)).default(CHALLENGE_PORT),
    option(
      "--acme-dns-hook <command>",
      "a command that sets the DNS records of challenges, in place of that port",
    ),
  ];
}

/**
 * Reads the settings; undefined without a name.
 *
 * @throws {InvalidInputError} when one is wrong
 */
export async function acmeOf(options: AcmeOptions): Promise<AcmeSettings | undefined> {
  const { acme = [], acmeEmail, acmeDirectory, acmeCa, acmePort, acmeDnsHook } = options;
  const { acmeEabKid, acmeEabHmac } = options;
  if (acme.length === 0) {
    const others = [acmeEmail, acmeDirectory, acmeCa, acmeDnsHook, acmeEabKid, acmeEabHmac];
    if (others.every((each) => each === undefined)) return undefined;
    throw new InvalidInputError("--acme", "Expected a domain or an IP address, found none");
  }
  const ca = acmeCa && await readText(acmeCa, "the setting --acme-ca");
  const eab = externalAccountOf(acmeEabKid, acmeEabHmac);
  return checkAcme({
    names: acme,
    directory: acmeDirectory ?? LETS_ENCRYPT,
    port: acmePort,
    ...(acmeEmail && { email: acmeEmail }),
    ...(ca && { ca }),
    ...(eab && { eab }),
    ...(acmeDnsHook && { dnsHook: acmeDnsHook }),
  });
}

function externalAccountOf(kid?: string, written?: string): ExternalAccount | undefined {
  if (kid === undefined && written === undefined) return undefined;
  if (kid === undefined || written === undefined) {
    const missing = kid === undefined ? "--acme-eab-kid" : "--acme-eab-hmac";
    throw new InvalidInputError(missing, "Expected both, the id of the key and the key, found one");
  }
  const hmac = resolveSecret(written, environment);
  if (hmac !== undefined) return { kid, hmac };
  throw new InvalidInputError("--acme-eab-hmac", `Expected a key in ${written}, found none`);
}

/** Returns where a service with its own certificate listens, as far as nothing else is set. */
export function publicAddress(
  { acme }: AcmeOptions,
  command: Command,
): { host?: string; port?: number } {
  if (acme === undefined || acme.length === 0) return {};
  const isOfIPv6 = acme.some((name) => isIPv6(name.replace(/^\[(.*)\]$/, "$1")));
  const isDefault = (name: string) => command.getOptionValueSource(name) === "default";
  return {
    ...(isDefault("host") && { host: isOfIPv6 ? PUBLIC_HOST_6 : PUBLIC_HOST }),
    ...(isDefault("port") && { port: HTTPS_PORT }),
  };
}
