/**
 * URLs: the ones that a service is reached at, and how they are shown without credentials.
 *
 * @module
 */

import { isIP } from "node:net";

/** Characters of a URL that are shown at most. */
const SHOWN_LENGTH_MAX = 200;

/**
 * Returns true if paths can be appended to a URL to reach a service: its scheme is HTTP, and
 * nothing follows its path. It has no user name and no password, as these would be shown with every
 * address made of it.
 */
export function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  // `url` does not show an empty query or fragment.
  return url !== null && /^https?:$/.test(url.protocol) && !/[?#]/.test(text) &&
    url.username === "" && url.password === "";
}

/** Returns a URL with brackets around its address of IPv6, which Kubernetes tells without them. */
export function withBrackets(url: string): string {
  const [, scheme, address = "", port] = /^(https?:\/\/)([\da-f:]+):(\d+)$/i.exec(url) ?? [];
  return isIP(address) === 6 ? `${scheme}[${address}]:${port}` : url;
}

/** Returns a URL with asterisks in place of a user name and a password. */
export function hidePassword(text: string): string {
  return text.replace(/\/\/[^/?#]*@/, "//********@");
}

/**
 * Returns a text that is a URL, or was meant as one, with asterisks for everything up to its last
 * "@".
 */
export function hideUserInfo(text: string): string {
  const [start, end] = [text.indexOf("://"), text.lastIndexOf("@")];
  return start === -1 || end < start ? text : `${text.slice(0, start)}://***${text.slice(end)}`;
}

/** Decodes the percent-encoding of a part of a URL; returns it as it is if that encodes no text. */
export function percentDecode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns a text with asterisks in place of user names and passwords in its URLs. */
export function redactUrls(text: string): string {
  // The scheme has a length limit: without one, a long word of a server would take quadratic time.
  return text.replace(/([a-z0-9+.-]{1,16}:\/\/)\S*@/gi, "$1***@");
}

/**
 * Returns the host and path of a URL, and its scheme unless that is http or https. User name, password and
 * query may hold credentials, so logs and messages do not show them.
 */
export function redactedUrl({ protocol, host, pathname }: URL): string {
  const shown = `${/^https?:$/.test(protocol) ? "" : `${protocol}//`}${host}${pathname}`;
  return shown.length <= SHOWN_LENGTH_MAX ? shown : `${shown.slice(0, SHOWN_LENGTH_MAX)}...`;
}

/** Returns a URL without user name and password. */
export function withoutUserInfo(url: URL): URL {
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  return bare;
}
