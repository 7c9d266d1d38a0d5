/**
 * The URLs at which a service is reached.
 *
 * @module
 */
import type { ServiceSettings } from "../config/settings.ts";

/** Returns the address at which other instances reach this one; undefined when it listens on all addresses. */
export function instanceUrlOf(settings: ServiceSettings, port: number): string | undefined {
  const { host, instanceUrl } = settings;
  if (instanceUrl !== undefined) return instanceUrl.replace(/\/+$/, "");
  return host === "0.0.0.0" || host === "::" ? undefined : ownUrl(settings, port);
}

/** Returns the URL at which this machine reaches it. */
export function ownUrl({ host, tls, acme }: ServiceSettings, port: number): string {
  const name = host === "0.0.0.0" || host === "::" ? "localhost" : host;
  return `${tls || acme ? "https" : "http"}://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
