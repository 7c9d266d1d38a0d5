/**
 * The addresses that a sender may choose for a callback.
 *
 * @module
 */

/** An allowed address: `https://*.example.com:8443/hooks/`. */
interface Pattern {
  protocol: string;
  /** Without the `*.` before it. */
  hostname: string;
  isWildcard: boolean;
  port: string;
  /** The beginning of the path, up to the end of one of its parts. */
  path: string;
}

const EXPECTED = "Expected a scheme, a host and a path, such as https://*.example.com/hooks/";
const WILDCARD = /^(https?:\/\/)\*\./;
/** Blanks, control characters and backslashes, which programs read differently. */
// deno-lint-ignore no-control-regex -- these are the characters
const AMBIGUOUS = /[\x00-\x20\x7f\\]/;
/** Encoded slashes, backslashes and dots: some servers take them for the characters. */
const ENCODED = /%(?:2f|5c|2e|00)/i;
const NUMERIC_HOST = /^\[|^[\d.]+$/;

/** Reads an allowed address; returns what is wrong with it as a text. */
export function parsePattern(text: string): Pattern | string {
  const isWildcard = WILDCARD.test(text);
  const url = URL.parse(text.replace(WILDCARD, "$1"));
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
  if (url === null || !isHttp || AMBIGUOUS.test(text)) return `${EXPECTED}, found "${text}"`;
  const { protocol, hostname, port, pathname: path } = url;
  if (url.username !== "" || url.password !== "" || text.includes("@")) {
    return `${EXPECTED}, without a user name and a password`;
  }
  if (url.search !== "" || url.hash !== "" || /[?#]/.test(text)) {
    return `${EXPECTED}, without a query and a fragment`;
  }
  if (hostname.includes("*") || path.includes("*") || ENCODED.test(path)) {
    return `${EXPECTED}: a star stands for the first label of the host alone`;
  }
  if (hostname === "" || hostname.endsWith(".")) return EXPECTED;
  if (isWildcard && (NUMERIC_HOST.test(hostname) || !hostname.includes("."))) {
    return `${EXPECTED}: behind "*." a domain with a dot in it`;
  }
  return { protocol, hostname, isWildcard, port, path };
}

/**
 * Reads the address that a sender has chosen; returns what is wrong with it as a text.
 *
 * @param allow the addresses that the owner allows
 */
export function allowedAddress(text: string, allow: readonly string[]): URL | string {
  const url = URL.parse(text);
  if (url === null || AMBIGUOUS.test(text)) return "it is no URL";
  if (url.username !== "" || url.password !== "" || /^[^/?#]*\/\/[^/?#]*@/.test(text)) {
    return "it has a user name or a password";
  }
  if (ENCODED.test(url.pathname)) return "its path has an encoded slash, backslash or dot";
  url.hash = "";
  const isAllowed = allow.some((each) => {
    const pattern = parsePattern(each);
    return typeof pattern !== "string" && matches(url, pattern);
  });
  return isAllowed ? url : "no address in allow covers it";
}

function matches(url: URL, { protocol, hostname, isWildcard, port, path }: Pattern): boolean {
  if (url.protocol !== protocol || url.port !== port) return false;
  const dot = url.hostname.indexOf(".");
  const host = isWildcard ? url.hostname.slice(dot + 1) : url.hostname;
  if (host !== hostname || isWildcard && dot <= 0) return false;
  const folder = path.endsWith("/") ? path : `${path}/`;
  return url.pathname === path || url.pathname.startsWith(folder);
}
