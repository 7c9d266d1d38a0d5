/**
 * A client of a running service's API.
 *
 * @module
 */
import {
  HooklaunchError,
  InvalidInputError,
  messageOf,
  type Problem,
} from "../../platform/errors.ts";
import { addressOf, type ServiceAddress } from "./address.ts";

const TIMEOUT_MS = 30_000;
const PAGE_MAX = 200;

/** Advice for requests that fail, by a part of the reason. */
const ADVICE = [
  [
    "Connection refused",
    ". Does the service run? Give another address with --url, or in HOOKLAUNCH_URL",
  ],
  [
    "UnknownIssuer",
    ". Its certificate is not trusted: name a file with its authority in DENO_CERT, as in DENO_CERT=ca.pem",
  ],
  [
    "CaUsedAsEndEntity",
    ". Its certificate is that of an authority, as openssl req -x509 makes it: create it with " +
    "-addext basicConstraints=critical,CA:FALSE",
  ],
  [
    "InvalidContentType",
    ". It does not speak TLS: check the URL, which may have to begin with http:",
  ],
  [
    "invalid HTTP version",
    ". It may speak TLS: check the URL, which may have to begin with https:",
  ],
  [
    "Encountered redirect",
    ". It redirects to another address: give that one as --url or HOOKLAUNCH_URL, such as with https:",
  ],
] as const;

/** The service refused a request, or did not answer. */
export class ApiError extends HooklaunchError {
  override readonly code = "api_error";

  /** @param status the HTTP status of the answer; undefined when there was none */
  constructor(message: string, readonly status?: number) {
    super(message);
  }
}

/** Returns true when the same request may succeed later. */
export function isPassing(error: unknown): boolean {
  return error instanceof ApiError && (error.status === undefined || error.status >= 500);
}

/** Makes the error of a request that failed, from the cause of what `fetch` throws. */
export function unreachable({ shown }: ServiceAddress, error: unknown): ApiError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  // Its first words are the URL and the step that failed.
  const why = reasonOf(cause).replace(/^error sending request .*?: client error \(\w+\): /, "");
  const [, advice = ""] = ADVICE.find(([reason]) => why.includes(reason)) ?? [];
  return new ApiError(`Cannot reach the service at ${shown}: ${why}${advice}`);
}

function reasonOf(error: unknown): string {
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  return isLate ? "it does not answer" : messageOf(error);
}

/** The address of a service and the token for it. */
interface ApiAccess {
  /** The address of the service, such as `https://hooks.example.com`. */
  url: string;
  token: string;
  /** The words for the place that the token comes from. */
  place?: string;
}

/** The part of a list to read. */
export interface ListOptions {
  /** The filters of the query. */
  query?: Record<string, string | undefined>;
  /** The number of elements at most; all when absent. */
  limit?: number;
}

/** A client of the operators' API. */
export class ApiClient {
  readonly #address: ServiceAddress;
  readonly #base: string;
  readonly #token: string;
  readonly #place: string;

  constructor({ url, token, place = "HOOKLAUNCH_ADMIN_TOKEN" }: ApiAccess) {
    this.#address = addressOf(url);
    this.#base = `${this.#address.base}/api/v0/`;
    this.#token = token;
    this.#place = place;
  }

  /**
   * Sends a request.
   *
   * @param path relative to `/api/v0/`
   * @param revision the revision that was read: the service refuses to change another one
   * @returns the JSON of the answer, whose type the caller names
   * @throws {InvalidInputError} when the service refuses what was sent
   * @throws {ApiError} for every other failure
   */
  async request<T>(
    method: string,
    path: string,
    body?: unknown,
    { revision }: { revision?: number } = {},
  ): Promise<T> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const sent = {
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(revision === undefined ? {} : { headers: { "if-match": `"${revision}"` } }),
    };
    const answer = await this.#send(path, { method, signal, ...sent });
    const text = await answer.text().catch((error) => {
      throw new ApiError(`Cannot read the answer to ${method} ${path}: ${reasonOf(error)}`);
    });
    try {
      const value = JSON.parse(text || "{}");
      if (typeof value === "object" && value !== null) return value;
    } catch {
      // It is no JSON.
    }
    throw this.#foreign();
  }

  /**
   * Sends a request whose answer may take any time. The caller reads it or cancels it.
   *
   * @param headers with `accept`, an answer of another media type is an error
   * @param sent is sent as JSON, by POST
   * @throws {ApiError} when the request fails
   */
  async open(
    path: string,
    headers: Record<string, string> = {},
    sent?: object,
  ): Promise<Response> {
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(new DOMException("It does not answer", "TimeoutError")),
      TIMEOUT_MS,
    );
    try {
      const answer = await this.#send(path, {
        method: sent === undefined ? "GET" : "POST",
        headers,
        signal: late.signal,
        ...(sent && { body: JSON.stringify(sent) }),
      });
      const type = answer.headers.get("content-type") ?? "";
      if (type.startsWith(headers.accept ?? "")) return answer;
      await answer.body?.cancel();
      throw this.#foreign();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Reads the pages of a list. */
  async list<T>(path: string, options: ListOptions = {}): Promise<T[]> {
    return await Array.fromAsync(this.each<T>(path, options));
  }

  /** Yields the elements of a list. Reads a page when its first element is asked for. */
  async *each<T>(
    path: string,
    { query = {}, limit = Infinity }: ListOptions = {},
  ): AsyncGenerator<T> {
    const asked = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) asked.set(name, value);
    }
    if (limit < Infinity) asked.set("limit", String(Math.min(limit, PAGE_MAX)));
    let left = limit;
    let next: string | null = asked.size > 0 ? `${path}?${asked}` : path;
    while (next !== null && left > 0) {
      const page: { results: T[]; next: string | null } = await this.request("GET", next);
      if (!Array.isArray(page?.results)) throw this.#foreign();
      yield* page.results.slice(0, left);
      left -= page.results.length;
      // The service may know itself by another address than the one in use here.
      next = page.next && path + new URL(page.next).search;
    }
  }

  /** Makes the error of an answer that is not Hooklaunch's. */
  #foreign(): ApiError {
    return new ApiError(`The answer at ${this.#base} is not from Hooklaunch: check the URL`, 200);
  }

  async #send(
    path: string,
    { method, headers = {}, body, signal }: {
      method: string;
      headers?: Record<string, string>;
      body?: string;
      signal: AbortSignal;
    },
  ): Promise<Response> {
    const url = new URL(path, this.#base);
    const answer = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...headers,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body }),
      redirect: "error",
      signal,
      ...this.#address.init,
    }).catch((error) => {
      throw unreachable(this.#address, error);
    });
    if (answer.ok) return answer;
    throw failure(answer.status, await answer.text().catch(() => ""), this.#place);
  }
}

function failure(status: number, text: string, place: string): HooklaunchError {
  const { detail, errors } = detailsOf(text);
  // Another status has differences, not errors in what was sent.
  if (errors !== undefined && status === 422) {
    return new InvalidInputError("what was sent", errors);
  }
  const said = detail ?? textOf(text);
  const advice = detail === undefined
    ? ". Check the URL, and the proxy in front of the service"
    : adviceOn(status, said, place);
  return new ApiError(
    `The service answered ${[status, said].filter(Boolean).join(": ")}${advice}`,
    status,
  );
}

/** Returns the first words of a text that may be a page of HTML. */
function textOf(page: string): string {
  return page.slice(0, 4_096).replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim().slice(0, 200);
}

/** Reads the details of an error; nothing where another program answered. */
function detailsOf(text: string): { detail?: string; errors?: Problem[] } {
  try {
    const { detail, errors } = JSON.parse(text);
    return {
      ...(typeof detail === "string" ? { detail } : {}),
      ...(Array.isArray(errors) && errors.every(isProblem) ? { errors } : {}),
    };
  } catch {
    return {};
  }
}

function isProblem(value: unknown): value is Problem {
  return typeof value === "object" && value !== null &&
    "pointer" in value && typeof value.pointer === "string" &&
    "detail" in value && typeof value.detail === "string";
}

function adviceOn(status: number, said: string, place: string): string {
  if (status === 401) return `. The service does not know the token in ${place}`;
  return said.startsWith("HTTPS is required")
    ? ". If it has a public https address, give that as --url or HOOKLAUNCH_URL"
    : "";
}
