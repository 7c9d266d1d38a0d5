/**
 * The certificate that a server shows, and what clients say to it.
 *
 * @module
 */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { connect } from "node:tls";
import type { Facts } from "./facts.ts";
import { failure, NotCheckedError, ok, type Result, warning } from "./result.ts";

const DAY_MS = 86_400_000;
/** A certificate is renewed by then: the last quarter of its lifetime, two weeks at most. */
const RENEWAL_SHARE = 1 / 4;
const RENEWAL_MS_MAX = 14 * DAY_MS;
const RENEW =
  "Renew it: a service with --tls-cert uses renewed files without a restart, and --acme renews by itself";

/** A certificate that a server shows. */
export interface Certificate {
  host: string;
  names: string;
  isForHost: boolean;
  from_ms: number;
  until_ms: number;
  /** The reason why it is not trusted here, as a code of OpenSSL. */
  distrust: string | undefined;
}

interface Server {
  address: string;
  port: number;
  host: string;
  /** Certificates in PEM that are trusted; the system's when empty. */
  caCerts: readonly string[];
}

/**
 * Reads the certificate of a server, also one that no client accepts.
 *
 * @throws {NotCheckedError} when the server shows none
 */
export function certificateAt(
  { address, port, host, caCerts }: Server,
  timeout_ms: number,
): Promise<Certificate> {
  const { promise, resolve, reject } = Promise.withResolvers<Certificate>();
  const refuse = (why: string) =>
    reject(new NotCheckedError(`No TLS with ${address} port ${port}: ${why}`));
  const socket = connect({
    host: address,
    port,
    // A server name is no address (RFC 6066 section 3).
    servername: isIP(host) === 0 ? host : "",
    // The checks tell what is wrong with it.
    rejectUnauthorized: false,
    ...(caCerts.length > 0 && { ca: [...caCerts] }),
  }, () => {
    const { raw } = socket.getPeerCertificate();
    if (raw === undefined) return refuse("the server shows no certificate");
    const { authorized, authorizationError } = socket;
    const distrust = authorized ? undefined : String(authorizationError);
    resolve(factsOf(new X509Certificate(raw), host, distrust));
  });
  const timer = setTimeout(() => refuse(`no answer within ${timeout_ms / 1_000} s`), timeout_ms);
  socket.on("error", ({ message }) => refuse(message));
  socket.on("close", () => refuse("the server has closed the connection"));
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}

function factsOf(
  certificate: X509Certificate,
  host: string,
  distrust: string | undefined,
): Certificate {
  const { subjectAltName = "", validFromDate, validToDate } = certificate;
  const found = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host);
  return {
    host,
    names: subjectAltName,
    isForHost: found !== undefined,
    from_ms: validFromDate.getTime(),
    until_ms: validToDate.getTime(),
    distrust,
  };
}

/** Checks that the certificate is for the host, is trusted, and goes on for a while. */
export async function checkCertificate(facts: Facts): Promise<Result> {
  const now_ms = facts.surroundings.now();
  const { host, names, isForHost, from_ms, until_ms, distrust } = await facts.certificate();
  const until = new Date(until_ms).toISOString();
  if (!isForHost) {
    return failure(
      `The certificate is not for ${host}, but for ${names || "no name"}`,
      `Get one for ${host}, such as by serve --acme ${host}`,
    );
  }
  if (until_ms <= now_ms) return failure(`The certificate has expired at ${until}`, RENEW);
  if (from_ms > now_ms) {
    return failure(
      `The certificate is valid from ${new Date(from_ms).toISOString()} on, which is to come`,
      "Set the clock of this machine, or that on which the certificate was made",
    );
  }
  if (distrust !== undefined) {
    return failure(
      `The certificate is not trusted here: ${distrust}`,
      "Send the whole chain, with those of the authorities between, or name an authority of your own in DENO_CERT",
    );
  }
  const left_ms = until_ms - now_ms;
  const days = Math.floor(left_ms / DAY_MS);
  const text = `The certificate is for ${host} and ends in ${days} days, at ${until}`;
  const isLate = left_ms < Math.min(RENEWAL_MS_MAX, (until_ms - from_ms) * RENEWAL_SHARE);
  return isLate ? warning(text, RENEW) : ok(text);
}
