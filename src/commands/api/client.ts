/**
 * Talking to a running service, as an operator.
 *
 * @module
 */
import {
  HooklaunchError,
  InvalidInputError,
  messageOf,
  type Problem,
} from "../../platform/errors.ts";

const TIMEOUT_MS = 30_000;
const PAGE_MAX = 200;

/** What to do about an answer that cannot be had, by why. */
const ADVICE = [
  [
    "UnknownIssuer",
    ". Its certificate is not trusted: DENO_CERT=ca.pem names a file with an authority to trust",
  ],
  [
    "CaUsedAsEndEntity",
    ". Its certificate is an authority's, as openssl req -x509 makes them: make one with -addext " +
    "basicConstraints=critical,CA:FALSE",
  ],
  [
    "InvalidContentType",
    ". It does not speak TLS: look at the URL, which may have to begin with http:",
  ],
  [
    "invalid HTTP version",
    ". It may speak TLS: look at the URL, which may have to begin with https:",
  ],
  [
    "Encountered redirect",
    ". It sends on to another address: give that one as --url or HOOKLAUNCH_URL, such as with https:",
  ],
] as const;

/** The service answered that it cannot do what was asked, or did not answer. */
export class ApiError extends HooklaunchError {
  override readonly code = "api_error";

  /** @param status the HTTP status of the answer; undefined when there was none */
  constructor(message: string, readonly status?: number) {
    super(message);
  }
}

/** Whether the same request may succeed a little later. */
export function isPassing(error: unknown): boolean {
  return error instanceof ApiError && (error.status === undefined || error.status >= 500);
}

/** What it means that `fetch` has failed: why is said by the cause of what it throws. */
export function unreachable(url: string, error: unknown): ApiError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  // The URL and the step at which it failed begin it.
  const why = reasonOf(cause).replace(/^error sending request .*?: client error \(\w+\): /, "");
  const [, advice = ""] = ADVICE.find(([reason]) => why.includes(reason)) ?? [];
  return new ApiError(`Cannot reach the service at ${new URL(url).origin}: ${why}${advice}`);
}

function reasonOf(error: unknown): string {
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  return isLate ? "It does not answer" : messageOf(error);
}

/** What is needed to talk to a service. */
export interface ApiAccess {
  /** How the service is reached, such as `https://hooks.example.com`. */
  url: string;
  token: string;
}

/** Which part of a list to read. */
export interface ListOptions {
  /** Filters, as the API knows them. */
  query?: Record<string, string | undefined>;
  /** How many elements at most; all when absent. */
  limit?: number;
}

/** A client of the operators' API. */
export class ApiClient {
  readonly #base: string;
  readonly #token: string;

  constructor({ url, token }: ApiAccess) {
    this.#base = `${url.replace(/\/+$/, "")}/api/v0/`;
    this.#token = token;
  }

  /**
   * Sends a request.
   *
   * @param path relative to `/api/v0/`
   * @returns the JSON of the answer; the caller names its type by the API's contract
   * @throws {InvalidInputError} when the service refuses what was sent
   * @throws {ApiError} for every other failure
   */
  async request<T>(method: string, path: string, body?: unknown): Promise<T> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
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
    throw this.#strange();
  }

  /**
   * Sends a GET request whose answer may take as long as it wants. The caller reads it or cancels it.
   *
   * @param headers with `accept`, an answer of another media type is none of the service's
   * @throws {ApiError} when there is no such answer
   */
  async open(path: string, headers: Record<string, string> = {}): Promise<Response> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error("It does not answer")), TIMEOUT_MS);
    try {
      const answer = await this.#send(path, { method: "GET", headers, signal: late.signal });
      const type = answer.headers.get("content-type") ?? "";
      if (type.startsWith(headers.accept ?? "")) return answer;
      await answer.body?.cancel();
      throw this.#strange();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Reads the pages of a list. */
  async list<T>(path: string, { query = {}, limit = Infinity }: ListOptions = {}): Promise<T[]> {
    const asked = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) asked.set(name, value);
    }
    if (limit < Infinity) asked.set("limit", String(Math.min(limit, PAGE_MAX)));
    const all: T[] = [];
    let next: string | null = asked.size > 0 ? `${path}?${asked}` : path;
    while (next !== null && all.length < limit) {
      const page: { results: T[]; next: string | null } = await this.request("GET", next);
      if (!Array.isArray(page?.results)) throw this.#strange();
      all.push(...page.results);
      // The service may know itself by another address than the one we reach it by.
      next = page.next && path + new URL(page.next).search;
    }
    return all.slice(0, limit);
  }

  /** Something else listens there, or stands before the service. */
  #strange(): ApiError {
    return new ApiError(`What answers at ${this.#base} is not Hooklaunch: look at the URL`, 200);
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
    }).catch((error) => {
      throw unreachable(url.href, error);
    });
    if (answer.ok) return answer;
    throw failure(answer.status, await answer.text().catch(() => ""));
  }
}

function failure(status: number, text: string): HooklaunchError {
  const { detail, errors } = detailsOf(text);
  if (errors !== undefined) return new InvalidInputError("what was sent", errors);
  const said = detail ?? textOf(text);
  const advice = detail === undefined
    ? ". Look at the URL, and at what stands before the service"
    : adviceOn(status, said);
  return new ApiError(
    `The service answered ${[status, said].filter(Boolean).join(": ")}${advice}`,
    status,
  );
}

/** The beginning of a text that may be a page of HTML, on one line. */
function textOf(page: string): string {
  return page.slice(0, 4_096).replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim().slice(0, 200);
}

/** What an answer says as Hooklaunch's do; of another's, which may be anything, the status has to do. */
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

function adviceOn(status: number, said: string): string {
  if (status === 401) return ". The one in HOOKLAUNCH_ADMIN_TOKEN is none of this service's";
  return said.startsWith("HTTPS is required")
    ? ". Where it has a public https address, --url or HOOKLAUNCH_URL can name that"
    : "";
}
