/**
 * Requests an `http:` or `https:` URL and follows redirects.
 *
 * @module
 */
import { hash } from "node:crypto";
import { STATUS_CODES } from "node:http";
import { messageOf } from "../../../platform/errors.ts";
import { percentDecode } from "../../../platform/network/urls.ts";
import type { ConnectOptions } from "./connection.ts";
import { type Answer, request, type RequestHeaders } from "./request.ts";
import { StagingError, TransientError } from "./errors.ts";
import { retryAfter_ms } from "./retries.ts";

const SHOWN_LENGTH_MAX = 200;
const REDIRECTS_MAX = 5;
const REDIRECTS = [301, 302, 303, 307, 308];
const URL_LENGTH_MAX = 8_192;

/** The version of a file that is in the cache (RFC 9110 section 8.8). */
interface Validators {
  /** A hash of the URL behind all redirects that sent them. No other URL gets them. */
  of: string;
  etag?: string | undefined;
  last_modified?: string | undefined;
}

interface FollowOptions extends ConnectOptions {
  validators?: Validators | undefined;
  /** The wall clock, in milliseconds since the epoch. */
  now_ms: number;
}

/**
 * Requests a URL.
 *
 * @returns an answer of status 200; or 304 when the cached version is the latest
 * @throws {TransientError} when the same request may succeed later
 * @throws {StagingError} when it cannot succeed
 */
export async function follow(start: URL, options: FollowOptions): Promise<Answer> {
  let url = start;
  let authorization = credentialsOf(start);
  for (let redirects = 0;; redirects++) {
    const bare = withoutUserInfo(url);
    const conditions = conditionsFor(bare, options.validators);
    const headers = { ...conditions, ...(authorization === undefined ? {} : { authorization }) };
    const answer = await request(bare, headers, options).catch((error) => {
      throw redirects === 0 ? error : behindRedirect(error, bare);
    });
    if (answer.status === 200) return answer;
    if (answer.status === 304 && Object.keys(conditions).length > 0) return answer;
    using _done = answer;
    const next = redirectOf(answer);
    if (next === undefined) throw failureOf(answer, options.now_ms);
    if (redirects >= REDIRECTS_MAX) {
      throw new StagingError(`there are more than ${REDIRECTS_MAX} redirects`);
    }
    // Credentials stay with the origin that they were given for.
    authorization = credentialsOf(next) ?? (next.origin === url.origin ? authorization : undefined);
    url = next;
  }
}

/** Returns the hash of a URL for {@linkcode Validators.of}. */
export function hashOfUrl({ href }: URL): string {
  return hash("sha256", href);
}

function conditionsFor(url: URL, validators: Validators | undefined): RequestHeaders {
  if (validators === undefined || validators.of !== hashOfUrl(url)) return {};
  const { etag, last_modified } = validators;
  // An entity tag is more precise, and some servers look at the time alone when they get both.
  if (etag !== undefined) return { "if-none-match": etag };
  return last_modified === undefined ? {} : { "if-modified-since": last_modified };
}

function redirectOf({ status, headers, url }: Answer): URL | undefined {
  const { location } = headers;
  if (!REDIRECTS.includes(status) || location === undefined) return undefined;
  const next = URL.parse(bytesAsUtf8(location), url);
  if (next === null || next.href.length > URL_LENGTH_MAX) {
    throw new StagingError("it redirects to an address that is no URL");
  }
  if (next.protocol !== "http:" && next.protocol !== "https:") {
    throw new StagingError(`it redirects to the scheme "${next.protocol}"`);
  }
  next.hash = "";
  return next;
}

function behindRedirect(error: unknown, url: URL): Error {
  const message = `it redirects to ${redactedUrl(url)}: ${messageOf(error)}`;
  return error instanceof TransientError ? new TransientError(message) : new StagingError(message);
}

function failureOf({ status, headers, url }: Answer, now_ms: number): Error {
  const message = `${redactedUrl(url)} answers ${`${status} ${STATUS_CODES[status] ?? ""}`.trim()}`;
  if (status !== 429 && status < 500) return new StagingError(message);
  return new TransientError(message, retryAfter_ms(headers["retry-after"], now_ms));
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
