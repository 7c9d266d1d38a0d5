/**
 * Talking to a running service, as an operator.
 *
 * @module
 */
import { HooklaunchError, InvalidInputError, messageOf, type Problem } from "../errors.ts";

const TIMEOUT_MS = 30_000;

/** The service answered that it cannot do what was asked, or did not answer. */
export class ApiError extends HooklaunchError {
  override readonly code = "api_error";
}

/** What is needed to talk to a service. */
export interface ApiAccess {
  /** How the service is reached, such as `https://hooks.example.com`. */
  url: string;
  token: string;
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
    const url = new URL(path, this.#base);
    const answer = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((error) => {
      throw new ApiError(`Cannot reach the service at ${url.origin}: ${messageOf(error)}`);
    });
    const text = await answer.text();
    if (!answer.ok) throw failure(answer.status, text);
    return JSON.parse(text);
  }

  /** Reads all pages of a list. */
  async list<T>(path: string): Promise<T[]> {
    const all: T[] = [];
    let next: string | null = path;
    while (next !== null) {
      const page: { results: T[]; next: string | null } = await this.request("GET", next);
      all.push(...page.results);
      // The service may know itself by another address than the one we reach it by.
      next = page.next && path + new URL(page.next).search;
    }
    return all;
  }
}

function failure(status: number, text: string): HooklaunchError {
  let details: { detail?: string; errors?: Problem[] } = {};
  try {
    details = JSON.parse(text);
  } catch {
    // No answer of Hooklaunch's: the status has to do.
  }
  if (details.errors) return new InvalidInputError("what was sent", details.errors);
  return new ApiError(`The service answered ${status}: ${details.detail ?? text.slice(0, 200)}`);
}
