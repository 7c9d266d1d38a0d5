/**
 * Requests the URL of an input, and says what is wrong with an answer that is no file.
 *
 * @module
 */
import { hash } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { ConnectOptions } from "../../../platform/network/connection.ts";
import { TransientError } from "../../../platform/network/fetch_errors.ts";
import { fetchPublic } from "../../../platform/network/fetch_public.ts";
import type { Answer } from "../../../platform/network/http_exchange.ts";
import { retryAfter_ms } from "../../../platform/network/retry_after.ts";
import { redactedUrl } from "../../../platform/network/urls.ts";
import { StagingError } from "./errors.ts";

/** The version of a file that is in the cache (RFC 9110 section 8.8). */
interface Validators {
  /** A hash of the URL behind all redirects that sent them. No other URL gets them. */
  of: string;
  etag?: string | undefined;
  last_modified?: string | undefined;
}

interface InputRequestOptions extends ConnectOptions {
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
export async function requestInput(start: URL, options: InputRequestOptions): Promise<Answer> {
  const headersFor = (url: URL) => conditionsFor(url, options.validators);
  const answer = await fetchPublic(start, { ...options, headersFor });
  if (answer.status === 200) return answer;
  if (answer.status === 304 && Object.keys(headersFor(answer.url)).length > 0) return answer;
  using _done = answer;
  throw failureOf(answer, options.now_ms);
}

/** Returns the hash of a URL for {@linkcode Validators.of}. */
export function hashOfUrl({ href }: URL): string {
  return hash("sha256", href);
}

function conditionsFor(url: URL, validators: Validators | undefined): Record<string, string> {
  if (validators === undefined || validators.of !== hashOfUrl(url)) return {};
  const { etag, last_modified } = validators;
  // An entity tag is more precise, and some servers look at the time alone when they get both.
  if (etag !== undefined) return { "if-none-match": etag };
  return last_modified === undefined ? {} : { "if-modified-since": last_modified };
}

function failureOf({ status, headers, url }: Answer, now_ms: number): Error {
  const message = `${redactedUrl(url)} answers ${`${status} ${STATUS_CODES[status] ?? ""}`.trim()}`;
  if (status !== 429 && status < 500) return new StagingError(message);
  return new TransientError(message, retryAfter_ms(headers["retry-after"], now_ms));
}
