/**
 * The URL that a service is reached at.
 *
 * @module
 */

/**
 * Whether paths can be put behind a URL to reach a service: it is of HTTP, and ends with its path. A
 * name and a password in it would be shown with every address that is made of it.
 */
export function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  // Even an empty query or fragment, which `url` shows as none.
  return url !== null && /^https?:$/.test(url.protocol) && !/[?#]/.test(text) &&
    url.username === "" && url.password === "";
}

/** A URL as an error may show it: who asks for help shows that to others. */
export function withoutPassword(text: string): string {
  return text.replace(/\/\/[^/?#]*@/, "//********@");
}
