/**
 * The console's calls of the operators' API, within the process. What a session may see and do is decided
 * there, and its changes are in the audit log.
 *
 * @module
 */
import type { Hono } from "@hono/hono";
import { STATUS_CODE } from "@std/http/status";
import { HooklaunchError, type Problem } from "../../platform/errors.ts";
import type { Authenticated } from "../api/auth.ts";
import type { ProblemDetails } from "../problem.ts";

const PAGE_SIZE_MAX = 200;

/** The API did not do what a page has asked for. */
export class ApiCallError extends HooklaunchError {
  override readonly code = "api_call_refused";

  constructor(readonly status: number, detail: string, readonly problems: readonly Problem[]) {
    super(detail);
  }

  /** The message without its problems, where it lists them. */
  get summary(): string {
    const [{ detail = "" } = {}] = this.problems;
    const [summary = ""] = this.message.split(": ", 1);
    return detail !== "" && this.message.includes(detail) ? summary : this.message;
  }
}

/** The query of a call; a parameter that is undefined or empty is left out. */
type Query = Readonly<Record<string, string | number | undefined>>;

/** A page of a list: its records, and the cursor of the next page. */
export interface ListPage<T> {
  results: readonly T[];
  cursor: string | undefined;
}

/** A caller of the API with the access of a session. */
export class ApiClient {
  readonly #api: Hono;
  readonly #env: Authenticated;
  readonly #method: "GET" | "HEAD";
  #lacksLeader = false;

  /** @param method that of the browser, where it is a read */
  constructor(api: Hono, env: Authenticated, method: "GET" | "HEAD") {
    this.#api = api;
    this.#env = env;
    this.#method = method;
  }

  /**
   * Reads JSON. `T` is the type that the operation declares for its answer.
   *
   * @param path relative to `/api/v0/`
   * @throws {ApiCallError} when the answer is an error
   */
  async get<T>(path: string, query: Query = {}): Promise<T> {
    return await (await this.#checked("GET", `${path}${search(query)}`)).json();
  }

  /** Reads a page of a list. */
  async list<T>(path: string, query: Query = {}): Promise<ListPage<T>> {
    const page = await this.get<{ results: T[]; next: string | null }>(path, query);
    return { results: page.results, cursor: cursorOf(page.next) };
  }

  /** Reads a list whole, which is short. */
  async all<T>(path: string): Promise<T[]> {
    const all: T[] = [];
    for (let cursor: string | undefined = "";;) {
      const page: ListPage<T> = await this.list<T>(path, { limit: PAGE_SIZE_MAX, cursor });
      all.push(...page.results);
      if (page.cursor === undefined) return all;
      cursor = page.cursor;
    }
  }

  /** True once something was left out that the leading instance alone knows, which is silent. */
  get lacksLeader(): boolean {
    return this.#lacksLeader;
  }

  /** Returns what is found; undefined where the leading instance alone knows it, and is silent. */
  async ifKnown<T>(finding: Promise<T>): Promise<T | undefined> {
    try {
      return await finding;
    } catch (error) {
      if (!(error instanceof ApiCallError) || error.status !== STATUS_CODE.ServiceUnavailable) {
        throw error;
      }
      this.#lacksLeader = true;
      return undefined;
    }
  }

  /** Reads the first page of a list; an empty one where the token may not read it, or the leader is silent. */
  async listIfAllowed<T>(path: string, query: Query = {}): Promise<readonly T[]> {
    try {
      return (await this.ifKnown(this.list<T>(path, query)))?.results ?? [];
    } catch (error) {
      if (error instanceof ApiCallError && error.status === STATUS_CODE.Forbidden) return [];
      throw error;
    }
  }

  /**
   * Sends JSON, and reads JSON where there is any.
   *
   * @throws {ApiCallError} when the answer is an error
   */
  async send<T>(
    method: "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<T> {
    const answer = await this.#checked(method, path, { body: JSON.stringify(body), headers });
    return JSON.parse(await answer.text() || "null");
  }

  /** Returns the answer as it is, such as a stream or a file. To HEAD nothing is opened that nobody would read. */
  async answer(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return await this.#call(this.#method, path, { headers });
  }

  async #checked(method: string, path: string, init: CallInit = {}): Promise<Response> {
    const answer = await this.#call(method, path, init);
    if (answer.ok) return answer;
    const { title, detail, errors = [] }: ProblemDetails = await answer.json();
    throw new ApiCallError(answer.status, detail ?? title ?? `Status ${answer.status}`, errors);
  }

  async #call(method: string, path: string, { body, headers }: CallInit): Promise<Response> {
    const request = new Request(`http://console/api/v0/${path}`, {
      method,
      headers: headers ?? {},
      ...(body === undefined ? {} : { body }),
    });
    return await this.#api.fetch(request, this.#env);
  }
}

interface CallInit {
  body?: string | undefined;
  headers?: Readonly<Record<string, string>>;
}

/** Returns what filters find, or the refusal of these filters. */
export async function orRefused<T>(finding: Promise<T>): Promise<T | ApiCallError> {
  try {
    return await finding;
  } catch (error) {
    if (error instanceof ApiCallError && error.status === STATUS_CODE.UnprocessableEntity) {
      return error;
    }
    throw error;
  }
}

/** Returns the cursor in the address of a next page. */
export function cursorOf(next: string | null): string | undefined {
  return next === null ? undefined : new URL(next).searchParams.get("cursor") ?? undefined;
}

/** Writes a query with its `?`; nothing for an empty one. */
export function search(query: Query): string {
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") written.set(name, String(value));
  }
  return written.size === 0 ? "" : `?${written}`;
}
