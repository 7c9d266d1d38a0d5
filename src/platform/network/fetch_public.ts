/**
 * The one way to fetch a URL that a sender or an operator names: each hop leads to a public address, unless an
 * admin allows others, and the connection goes to the address that was checked.
 *
 * @module
 */
import { messageOf } from "../errors.ts";
import type { ConnectOptions } from "./connection.ts";
import { FetchError, TransientError } from "./fetch_errors.ts";
import { type Answer, request, type Sent } from "./http_exchange.ts";
import { percentDecode, redactedUrl, withoutUserInfo } from "./urls.ts";

const REDIRECTS_MAX = 5;
const REDIRECTS = [301, 302, 303, 307, 308];
/** The redirect to another resource, which is read (RFC 9110 section 15.4.4). */
const SEE_OTHER = 303;
/** The redirects that make a GET of a POST, and of no other method (RFC 9110 sections 15.4.2 and 15.4.3). */
const MOVED = [301, 302];
const URL_LENGTH_MAX = 8_192;
/** The reach of a redirect to another origin: whoever answers chooses it. */
const OTHERS = { privateNetworks: false, setting: undefined };

/** Options of {@linkcode fetchPublic}. */
interface FetchOptions extends ConnectOptions, Sent {
  /** Returns the headers for a URL, also for those behind redirects. */
  headersFor?(url: URL): Record<string, string>;
  /** False where a redirect is an answer like others. */
  followsRedirects?: boolean;
  /**
   * True where redirects to other origins lead to public addresses alone, whatever the first may reach, and take no
   * body there.
   */
  othersAreStrangers?: boolean;
  /** True where no redirect leads from https to http. */
  keepsTls?: boolean;
}

/**
 * Requests an `http:` or `https:` URL and follows redirects.
 *
 * @returns the answer, whatever its status is. Dispose of it, or its connection stays open
 * @throws {TransientError} when the same request may succeed later
 * @throws {FetchError} when it cannot succeed
 */
export async function fetchPublic(start: URL, options: FetchOptions): Promise<Answer> {
  let url = start;
  let sent: Sent = options;
  let authorization = credentialsOf(start);
  for (let redirects = 0;; redirects++) {
    const bare = withoutUserInfo(url);
    const own = options.headersFor?.(bare) ?? {};
    const headers = { ...own, ...(authorization === undefined ? {} : { authorization }) };
    const reach = options.othersAreStrangers && bare.origin !== start.origin ? OTHERS : {};
    const answer = await request(bare, headers, { ...options, ...sent, ...reach }).catch(
      (error) => {
        throw redirects === 0 ? error : behindRedirect(error, bare);
      },
    );
    if (options.followsRedirects === false || !isRedirect(answer)) return answer;
    using _done = answer;
    const next = redirectOf(answer);
    if (redirects >= REDIRECTS_MAX) {
      throw new FetchError(`there are more than ${REDIRECTS_MAX} redirects`);
    }
    if (options.keepsTls && url.protocol === "https:" && next.protocol === "http:") {
      throw new FetchError("it redirects from https to http");
    }
    // Credentials stay with the origin that they were given for.
    authorization = credentialsOf(next) ?? (next.origin === url.origin ? authorization : undefined);
    if (isReadThere(answer.status, sent)) sent = { method: "GET", body: undefined };
    else if (options.othersAreStrangers && sent.body !== undefined && !isSameServer(start, next)) {
      throw new FetchError(
        `it redirects to ${next.origin}, which does not get the body: write the address there as the URL`,
      );
    }
    url = next;
  }
}

/**
 * Reads an answer whole.
 *
 * @throws {FetchError} when it is longer than a limit
 * @throws {TransientError} when it is incomplete
 */
export async function readAnswer(answer: Answer, bytes_max: number): Promise<Uint8Array> {
  const body = new Uint8Array(bytes_max);
  let length = 0;
  for await (const chunk of answer.body()) {
    if (length + chunk.length > bytes_max) {
      throw new FetchError(`expected at most ${bytes_max} bytes`);
    }
    body.set(chunk, length);
    length += chunk.length;
  }
  return body.subarray(0, length);
}

/** Tells whether a redirect leads to the server itself, or from http to https of the same host. */
function isSameServer(start: URL, next: URL): boolean {
  const isUpgrade = start.protocol === "http:" && next.protocol === "https:" &&
    start.host === next.host && next.port === "";
  return start.origin === next.origin || isUpgrade;
}

/** Tells whether the resource that a redirect leads to is only read. */
function isReadThere(status: number, { method }: Sent): boolean {
  if (MOVED.includes(status)) return method === "POST";
  return status === SEE_OTHER && method !== "HEAD";
}

function isRedirect({ status, headers }: Answer): boolean {
  return REDIRECTS.includes(status) && headers.location !== undefined;
}

function redirectOf({ headers: { location = "" }, url }: Answer): URL {
  const next = URL.parse(bytesAsUtf8(location), url);
  if (next === null || next.href.length > URL_LENGTH_MAX) {
    throw new FetchError("it redirects to an address that is no URL");
  }
  if (next.protocol !== "http:" && next.protocol !== "https:") {
    throw new FetchError(`it redirects to the scheme "${next.protocol}"`);
  }
  next.hash = "";
  return next;
}

function behindRedirect(error: unknown, url: URL): Error {
  const message = `it redirects to ${redactedUrl(url)}: ${messageOf(error)}`;
  return error instanceof TransientError ? new TransientError(message) : new FetchError(message);
}

/** Returns the Authorization header for the credentials in a URL (RFC 7617). */
function credentialsOf({ username, password }: URL): string | undefined {
  if (username === "" && password === "") return undefined;
  const credentials = [username, password].map(percentDecode).join(":");
  return `Basic ${new TextEncoder().encode(credentials).toBase64()}`;
}

/** Decodes a header, which has one character a byte. */
function bytesAsUtf8(header: string): string {
  return new TextDecoder().decode(Uint8Array.from(header, (char) => char.charCodeAt(0)));
}
