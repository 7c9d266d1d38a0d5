/**
 * Requests to the API of a code host: bounded, to addresses that were checked, and with an error that says what to
 * do for each refusal.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import type { Clock } from "../../../platform/clock.ts";
import type { Network } from "../../../platform/network/connection.ts";
import { FetchError, TransientError } from "../../../platform/network/fetch_errors.ts";
import { readAnswer } from "../../../platform/network/fetch_public.ts";
import type { Answer } from "../../../platform/network/http_exchange.ts";
import { retryAfter_ms } from "../../../platform/network/retry_after.ts";
import { askHost } from "../ask_host.ts";
import type { HostApi } from "./hosts.ts";

const REQUEST_MS = 30_000;
/** The pauses before a request is repeated that failed for now. */
const PAUSES_MS = [500, 2_000];
/** The longest pause that a host can ask for while somebody waits. */
const WAIT_MAX_MS = 5_000;
/** The pause after a refusal for too many requests that names none. */
const LIMITED_MS = 60_000;
/** The answers for what is not there: GitHub has the others for a commit, and for an empty repository. */
const ABSENT = [404, 409, 422];
const NOT_MODIFIED = 304;
const CREDENTIALS = 'write it as "https://user:{env:NAME}@…" in the address of the repository';

/** The surroundings of {@linkcode ApiClient}. */
interface ApiClientOptions {
  api: HostApi;
  /** The base of the API, without a slash at its end. */
  base: string;
  token: string | undefined;
  network: Network;
  clock: Clock;
  /** Aborted when the answer is not needed any more. */
  signal: AbortSignal;
  /** The time until which the host refuses requests. Clients of one project share it. */
  limit: RateLimit;
}

/** A host's refusal of too many requests. */
export interface RateLimit {
  until_ms: number;
}

/** A request. */
interface ApiRequest {
  accept: string;
  /** The ETag of an answer that is known. */
  etag?: string | undefined;
  bytesMax: number;
}

/** An answer: what was asked for, or that it has not changed. */
type ApiAnswer =
  | { isKnown: true }
  | { isKnown: false; bytes: Uint8Array; etag: string | undefined; type: string };

/** Asks the API of a host. */
export class ApiClient {
  readonly #options: ApiClientOptions;

  constructor(options: ApiClientOptions) {
    this.#options = options;
  }

  /**
   * Asks for a path; undefined when there is nothing.
   *
   * @throws {FetchError} when the host refuses it; the message says what to do
   * @throws {TransientError} when it may be answered later
   */
  async get(path: string, request: ApiRequest): Promise<ApiAnswer | undefined> {
    for (const pause_ms of PAUSES_MS) {
      try {
        return await this.#get(path, request);
      } catch (error) {
        const { signal } = this.#options;
        signal.throwIfAborted();
        if (!(error instanceof TransientError)) throw error;
        const wait_ms = error.wait_ms ?? pause_ms;
        if (wait_ms > WAIT_MAX_MS) throw error;
        await delay(wait_ms, { signal });
      }
    }
    return await this.#get(path, request);
  }

  async #get(
    path: string,
    { accept, etag, bytesMax }: ApiRequest,
  ): Promise<ApiAnswer | undefined> {
    const { api, base, token, network, clock, signal, limit } = this.#options;
    const wait_ms = limit.until_ms - clock.now();
    if (wait_ms > 0) throw tooMany(api, wait_ms, token);
    const headers = {
      ...api.headers,
      accept,
      ...(etag === undefined ? {} : { "if-none-match": etag }),
    };
    const late = AbortSignal.timeout(REQUEST_MS);
    try {
      using answer = await askHost({
        url: base + path,
        headers,
        authorization: token === undefined ? undefined : api.authorization(token),
        network,
        signal: AbortSignal.any([signal, late]),
      });
      const { status } = answer;
      if (status === NOT_MODIFIED && etag !== undefined) return { isKnown: true };
      if (ABSENT.includes(status)) return undefined;
      if (status !== 200) throw this.#refusal(answer);
      return {
        isKnown: false,
        bytes: (await readAnswer(answer, bytesMax)).slice(),
        etag: answer.headers.etag,
        type: answer.headers["content-type"] ?? "",
      };
    } catch (error) {
      signal.throwIfAborted();
      if (!late.aborted) throw error;
      throw new TransientError(`${api.title} gives no answer within ${REQUEST_MS / 1_000} s`);
    }
  }

  #refusal({ status, headers }: Answer): Error {
    const { api, token, clock, limit } = this.#options;
    const asked_ms = retryAfter_ms(headers["retry-after"], clock.now());
    const isSpent = [403, 429].includes(status) && headers["x-ratelimit-remaining"] === "0";
    if (status === 429 || isSpent || (status === 403 && asked_ms !== undefined)) {
      const reset_ms = Number(headers["x-ratelimit-reset"] ?? headers["ratelimit-reset"]) * 1_000;
      const left_ms = Number.isFinite(reset_ms) ? reset_ms - clock.now() : LIMITED_MS;
      const wait_ms = Math.min(Math.max(asked_ms ?? left_ms, 0), 60 * LIMITED_MS);
      limit.until_ms = clock.now() + wait_ms;
      return tooMany(api, wait_ms, token);
    }
    if (status === 401) return new FetchError(unauthorized(api, token));
    if (status === 403) {
      return new FetchError(
        `${api.title} forbids it (403): the token needs ${api.right}`,
      );
    }
    if (status >= 500) {
      return new TransientError(
        `${api.title} fails with status ${status}: look at its state, and try again later`,
        asked_ms,
      );
    }
    return new FetchError(
      `${api.title} answers with status ${status}, expected 200: check that its API is at ${this.#options.base}`,
    );
  }
}

function unauthorized({ title, right }: HostApi, token: string | undefined): string {
  return token === undefined
    ? `${title} asks for a token (401): ${CREDENTIALS}. It needs ${right}`
    : `${title} does not know the token (401): it is wrong, revoked or expired; set its variable to a new one ` +
      `with ${right}`;
}

function tooMany(
  { title }: HostApi,
  wait_ms: number,
  token: string | undefined,
): TransientError {
  const seconds = Math.max(1, Math.ceil(wait_ms / 1_000));
  const hint = token === undefined ? `; with a token it allows more: ${CREDENTIALS}` : "";
  return new TransientError(
    `${title} refuses more requests for now: try again in ${seconds} s${hint}`,
    wait_ms,
  );
}
