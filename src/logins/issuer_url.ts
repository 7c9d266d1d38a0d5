/**
 * The URLs of identity providers.
 *
 * @module
 */
import { isLoopback } from "../platform/network/ip_ranges.ts";

/** The path below the service's address that issuers send people back to. */
const CALLBACK_PATH = "/login/callback";

/** Returns the redirect URI that is registered at issuers. */
export function redirectUri(baseUrl: string): string {
  return `${baseUrl}${CALLBACK_PATH}`;
}

/** Tells whether a URL names a place alone: no query, no fragment and no credentials. */
export function isOrigin({ href, protocol, username, password, search, hash }: URL): boolean {
  return (protocol === "https:" || protocol === "http:") && !/[?#]/.test(href) &&
    username === "" && password === "" && search === "" && hash === "";
}

/** Tells whether a host is this machine. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || isLoopback(hostname.replace(/^\[|\]$/g, ""));
}
