/**
 * Errors of listening, by the setting that causes them.
 *
 * @module
 */
import { InvalidInputError, messageOf } from "../platform/errors.ts";
import type { ServiceSettings, Tls } from "../config/settings.ts";

/** The settings that decide where and how the service listens. */
type ListenSettings = Pick<ServiceSettings, "host" | "port" | "tls">;

/** Makes an error that names the setting from one that was thrown when the service began to listen. */
export function listenError(error: unknown, settings: ListenSettings): InvalidInputError {
  const [setting, detail] = explain(error, settings);
  return new InvalidInputError(setting, detail);
}

/**
 * Checks that a certificate can be served.
 *
 * @throws {InvalidInputError} when it cannot
 */
export function checkTls(tls: Tls): void {
  const at = { hostname: "127.0.0.1", port: 0 };
  try {
    Deno.listenTls({ ...at, ...tls }).close();
  } catch (error) {
    throw listenError(error, { host: at.hostname, port: at.port, tls });
  }
}

/**
 * Says why the challenges of a certificate authority cannot be answered, and what to do: two sentences without the last
 * full stop.
 */
export function challengePortError(
  error: unknown,
  { host, port }: { host: string; port: number },
): string {
  const at = `port ${port} of ${host}`;
  if (error instanceof Deno.errors.AddrInUse) {
    return `Cannot answer the authority's challenges, as another process listens on ${at}. End it, or let it pass ` +
      "/.well-known/acme-challenge/ on to another port, and name that one with --acme-port; or prove the names with " +
      "--acme-dns-hook";
  }
  if (error instanceof Deno.errors.PermissionDenied) {
    return `Cannot answer the authority's challenges, as this user may not listen on ${at}. Give the service ` +
      "AmbientCapabilities=CAP_NET_BIND_SERVICE in its unit of systemd, or its binary cap_net_bind_service by setcap; " +
      "or name a port above 1023 with --acme-port, and lead port 80 there";
  }
  if (error instanceof Deno.errors.NotCapable) {
    return `Cannot answer the authority's challenges, as --allow-net does not have ${host}:${port}. Add it there`;
  }
  return `Cannot answer the authority's challenges on ${at}: ${
    messageOf(error)
  }. Look at --acme-port and --host`;
}

function explain(
  error: unknown,
  { host, port, tls }: ListenSettings,
): [setting: string, detail: string] {
  const message = messageOf(error);
  if (error instanceof Deno.errors.AddrInUse) {
    return [
      "--port",
      `Expected a port that is free on ${host}, found ${port}, which another process listens on`,
    ];
  }
  if (error instanceof Deno.errors.PermissionDenied) {
    return ["--port", `Expected a port that this user may listen on, found ${port}: ${message}`];
  }
  // Only errors of the system have a code. An unknown or malformed name comes without one.
  const isOfAddress = error instanceof URIError || /lookup/.test(message) ||
    (error instanceof Error && "code" in error && error.code !== undefined);
  if (tls === undefined || isOfAddress) {
    return [
      "--host",
      `Expected an address of this machine, or a name of one, found "${host}": ${message}`,
    ];
  }
  return explainTls(message, tls);
}

function explainTls(
  message: string,
  { cert, key }: Tls,
): [setting: string, detail: string] {
  if (cert === "" || /no certificates/i.test(message)) {
    return ["--tls-cert", "Expected a file with certificates in PEM, found none in it"];
  }
  if (key === "" || /no keys/i.test(message)) {
    return [
      "--tls-key",
      "Expected a file with a private key in PEM, without a password, found none in it",
    ];
  }
  if (/KeyMismatch/.test(message)) {
    return ["--tls-key", "Expected the private key of --tls-cert, found the key of another one"];
  }
  return [
    "--tls-cert and --tls-key",
    `Expected a certificate and its private key, found a pair that cannot be used: ${message}`,
  ];
}
