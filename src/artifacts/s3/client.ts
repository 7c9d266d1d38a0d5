/**
 * Signed requests to an S3 server, each repeated with growing pauses until it is answered.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import { AwsV4Signer } from "aws4fetch";
import { messageOf, UnavailableError } from "../../platform/errors.ts";
import type { S3Credentials, S3Location } from "./location.ts";
import { valueOf } from "./xml.ts";

/** The time within which a request is repeated. */
const PATIENCE_MS = 20_000;
/** The first pause. Each is twice as long as the one before, up to the longest. */
const PAUSE_MS = 100;
const PAUSE_MAX_MS = 5_000;
/** The time until the head of an answer, beside that for the body that is sent. */
const ANSWER_MS = 20_000;
/** The least rate at which a body is sent. */
const BYTES_A_MS = 64;
/** The part of an error's text that a message holds. */
const SHOWN_LENGTH_MAX = 300;
const RETRY_AFTER_S = 10;
/** The SHA-256 of no bytes. */
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** The times of a client. Tests have shorter ones. */
export interface ClientTimes {
  patience_ms?: number;
  pause_ms?: number;
  answer_ms?: number;
}

/** A request. */
interface S3Request {
  method: "GET" | "PUT" | "POST" | "DELETE";
  /** Without the prefix; undefined for the bucket. */
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array<ArrayBuffer>;
  /** The SHA-256 of the body, in hex. */
  sha256?: string;
  /** Aborted when the answer is not needed any more. */
  signal?: AbortSignal | undefined;
  /** The time within which it is repeated, where that is shorter than the client's. */
  within_ms?: number | undefined;
}

/** Options of a client. */
interface ClientOptions {
  location: S3Location;
  credentials: S3Credentials;
  times?: ClientTimes;
  /**
   * Called after each request: with nothing when it was answered, or with the reason why it was not, and when its last
   * attempt began, by `performance.now()`.
   */
  onOutcome(failure: string | undefined, began_ms: number): void;
}

/** Asks an S3 server. */
export class S3Client {
  readonly #options: ClientOptions;
  readonly #signingKeys = new Map<string, ArrayBuffer>();
  readonly #closing = new AbortController();

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /**
   * Asks until there is an answer: a success, or that there is no such thing (404), that a precondition does
   * not hold (412) or a range is not there (416). The caller reads or cancels its body, which has come to its end
   * unless it is that of an object.
   *
   * @throws {UnavailableError} when there is none for some time
   */
  async ask(request: S3Request): Promise<Response> {
    const { patience_ms = PATIENCE_MS, pause_ms = PAUSE_MS } = this.#options.times ?? {};
    const until_ms = performance.now() + Math.min(patience_ms, request.within_ms ?? Infinity);
    for (let pause = pause_ms;; pause = Math.min(2 * pause, PAUSE_MAX_MS)) {
      const began_ms = performance.now();
      const answer = await this.#try(request);
      if (answer instanceof Response) {
        this.#options.onOutcome(undefined, began_ms);
        return answer;
      }
      request.signal?.throwIfAborted();
      if (this.#closing.signal.aborted || performance.now() + pause > until_ms) {
        this.#options.onOutcome(answer, began_ms);
        const { bucket, endpoint } = this.#options.location;
        throw new UnavailableError(
          `Cannot use the bucket ${bucket} at ${endpoint}: ${answer}`,
          RETRY_AFTER_S,
        );
      }
      // Different requests that fail together are not repeated together.
      await delay(pause * (0.5 + Math.random() / 2), { signal: this.#closing.signal }).catch(
        () => {},
      );
    }
  }

  /** Returns a URL for one request without credentials, for some seconds. */
  async presign(
    { method, key = "", headers = {} }: Pick<S3Request, "method" | "key" | "headers">,
    expires_s: number,
  ): Promise<string> {
    const url = this.#urlOf(key, { "X-Amz-Expires": String(expires_s) });
    const signed = await this.#signer({ method, url, headers, signQuery: true }).sign();
    return signed.url.href;
  }

  /** Ends the requests under way. */
  close(): void {
    this.#closing.abort();
  }

  /** Asks once. Returns the reason as a text when the request is to be repeated. */
  async #try(request: S3Request): Promise<Response | string> {
    const { method, key, query = {}, headers = {}, body, sha256, signal } = request;
    const { answer_ms: usual_ms = ANSWER_MS } = this.#options.times ?? {};
    const answer_ms = Math.min(usual_ms, request.within_ms ?? Infinity);
    const late = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const waitFor = (time_ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => late.abort(), time_ms);
    };
    waitFor(answer_ms + (body?.length ?? 0) / BYTES_A_MS);
    const signals = [late.signal, this.#closing.signal, ...(signal ? [signal] : [])];
    try {
      const content = body === undefined ? EMPTY_SHA256 : sha256 ?? "UNSIGNED-PAYLOAD";
      const signed = await this.#signer({
        method,
        url: this.#urlOf(key, query),
        headers: { ...headers, "x-amz-content-sha256": content },
      }).sign();
      // The length of what a proxy compresses is not the object's. Proxies change it, so it is not signed.
      signed.headers.set("accept-encoding", "identity");
      const answer = await fetch(signed.url, {
        method,
        headers: signed.headers,
        redirect: "manual",
        ...(body && { body }),
        signal: AbortSignal.any(signals),
      });
      if (answer.ok || answer.status === 412 || answer.status === 416) {
        const isObject = method === "GET" && key !== undefined;
        return isObject ? answer : await wholeAnswer(answer, () => waitFor(answer_ms));
      }
      return answer.status === 404 ? await missing(answer) : await failureOf(answer);
    } catch (error) {
      return late.signal.aborted ? `no answer within ${answer_ms} ms` : messageOf(error);
    } finally {
      clearTimeout(timer);
    }
  }

  #urlOf(key: string | undefined, query: Record<string, string>): string {
    const { endpoint, bucket, prefix } = this.#options.location;
    const path = key === undefined ? "" : `/${encodedPath(prefix + key)}`;
    const search = new URLSearchParams(query).toString();
    return `${endpoint}/${bucket}${path}${search && `?${search}`}`;
  }

  #signer(
    { method, url, headers, signQuery = false }: {
      method: string;
      url: string;
      headers: Record<string, string>;
      signQuery?: boolean;
    },
  ): AwsV4Signer {
    // One key a day.
    if (this.#signingKeys.size > 8) this.#signingKeys.clear();
    return new AwsV4Signer({
      ...this.#options.credentials,
      region: this.#options.location.region,
      service: "s3",
      method,
      url,
      headers,
      // Otherwise a presigned URL would not be bound to the length.
      allHeaders: signQuery,
      signQuery,
      cache: this.#signingKeys,
    });
  }
}

/** Reads an answer to its end. S3 begins some before it is done, and sends blanks meanwhile. */
async function wholeAnswer(answer: Response, onBytes: () => void): Promise<Response> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of answer.body ?? []) {
    chunks.push(chunk);
    onBytes();
  }
  const { status, headers } = answer;
  return new Response(chunks.length === 0 ? null : new Blob(chunks), { status, headers });
}

/** Encodes a key for a URL, as the signature demands it. */
function encodedPath(key: string): string {
  return key.split("/").map((part) =>
    encodeURIComponent(part).replaceAll(
      /[!'()*]/g,
      (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
    )
  ).join("/");
}

/** Returns an answer that says that something is not there, or its reason where that is the bucket. */
async function missing(answer: Response): Promise<Response | string> {
  const text = await answer.text();
  if (valueOf(text, "Code") === "NoSuchBucket") return failureIn(text, answer.status);
  return new Response(text, { status: answer.status, headers: answer.headers });
}

/** Returns the reason of an answer that is a failure. */
async function failureOf(answer: Response): Promise<string> {
  return failureIn(await answer.text().catch(() => ""), answer.status);
}

function failureIn(text: string, status: number): string {
  const code = valueOf(text, "Code");
  const message = valueOf(text, "Message");
  const said = [code, message].filter(Boolean).join(": ").slice(0, SHOWN_LENGTH_MAX);
  return `it answers ${status}${said === "" ? "" : ` (${said})`}`;
}
