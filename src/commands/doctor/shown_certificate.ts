/**
 * The certificate that a server shows.
 *
 * @module
 */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { connect } from "node:tls";
import { NotCheckedError } from "./result.ts";

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
