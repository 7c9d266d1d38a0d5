/**
 * What logs and messages show of where a file comes from. A URL may hold credentials in front of its
 * host, and in its query: neither is shown.
 *
 * @module
 */

const SHOWN_LENGTH_MAX = 200;

/** A URL's host and path, and its scheme unless that is of the web. */
export function shownUrl({ protocol, host, pathname }: URL): string {
  const shown = `${/^https?:$/.test(protocol) ? "" : `${protocol}//`}${host}${pathname}`;
  return shown.length <= SHOWN_LENGTH_MAX ? shown : `${shown.slice(0, SHOWN_LENGTH_MAX)}...`;
}

/** A URL without user name and password. */
export function withoutUserInfo(url: URL): URL {
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  return bare;
}
