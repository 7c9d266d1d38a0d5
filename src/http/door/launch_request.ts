/**
 * From an HTTP request to what conditions and the trigger log see of it.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Field } from "../../conditions/field.ts";
import type { BodySize } from "../../conditions/body_limits.ts";
import { type LaunchRequest, type ParsedBody, RequestBody } from "../../conditions/request.ts";
import { UnavailableError } from "../../platform/errors.ts";
import type { RequestFacts } from "../../store/records/trigger_log.ts";
import type { ParsedValues } from "./parsed_value_budget.ts";

/** Headers whose values the trigger log shows, unless the trigger's conditions read credentials there. */
const SHOWN_HEADERS = new Set([
  "accept",
  "content-length",
  "content-type",
  "date",
  "host",
  "user-agent",
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-github-delivery",
  "x-github-event",
  "x-gitlab-event",
  "x-request-id",
  "x-slack-request-timestamp",
  "x-timestamp",
]);
const HIDDEN = "********";
const HEADER_NAME_LENGTH_MAX = 100;
const HEADER_VALUE_LENGTH_MAX = 200;
const HEADERS_SHOWN_MAX = 64;

/** The facts of a request that its head does not hold. */
export interface ArrivalFacts {
  baseUrl: string;
  remoteIp: string;
  receivedAt_ms: number;
  /** The budget that the values of its body count against. */
  values: ParsedValues;
}

const NO_BYTES = new Uint8Array();

/**
 * A request that arrives: its head first, then its body. Its URL and its body are parsed when they are
 * first asked for: most conditions use neither.
 */
export class ArrivedRequest implements LaunchRequest, Disposable {
  readonly method: string;
  readonly headers: Headers;
  readonly remoteIp: string;
  readonly receivedAt_ms: number;
  /** Empty until it has been read. */
  body: Uint8Array = NO_BYTES;
  /** Set when the request is answered although its body is still in use: settles when it no longer is. */
  inUse?: Promise<unknown>;
  readonly #request: Request;
  readonly #baseUrl: string;
  readonly #budget: ParsedValues;
  #values = 0;
  #body: RequestBody | undefined;

  constructor(request: Request, facts: ArrivalFacts) {
    this.method = request.method;
    this.headers = request.headers;
    this.remoteIp = facts.remoteIp;
    this.receivedAt_ms = facts.receivedAt_ms;
    this.#request = request;
    this.#baseUrl = facts.baseUrl;
    this.#budget = facts.values;
  }

  /** The part that is known before the body is read. */
  get head(): SeenRequest {
    const { method, headers, remoteIp } = this;
    return { method, headers, remoteIp };
  }

  get query(): URLSearchParams {
    const target = this.#target;
    const question = target.indexOf("?");
    return new URLSearchParams(question === -1 ? "" : target.slice(question));
  }

  get url(): string {
    return this.#baseUrl + this.#target;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  bodySize(): BodySize | undefined {
    return this.#readableBody().size;
  }

  /** @throws {UnavailableError} when other bodies hold too many values */
  parsedBody(): ParsedBody {
    return this.#readableBody().parsed();
  }

  /** Lets go of what its body was read as. */
  [Symbol.dispose](): void {
    this.#budget.giveBack(this.#values);
    this.#values = 0;
    this.#body = undefined;
  }

  #readableBody(): RequestBody {
    const contentType = this.headers.get("content-type") ?? "";
    return this.#body ??= new RequestBody(this.body, contentType, (values) => {
      if (!this.#budget.take(values)) {
        throw new UnavailableError("Cannot read a body: those under way hold too many values", 1);
      }
      this.#values = values;
    });
  }

  /**
   * The path and the query as they were sent: a `URL` writes `'` as `%27`, and senders sign what they send.
   * What stands before is the sender's word, and may make it no URL at all.
   */
  get #target(): string {
    const { url } = this.#request;
    return url.slice(url.indexOf("/", url.indexOf("://") + 3));
  }
}

/** A request as a refusal sees it: without its body where that was not read. */
export type SeenRequest =
  & Pick<LaunchRequest, "method" | "headers" | "remoteIp">
  & Partial<Pick<LaunchRequest, "body">>;

/**
 * What the trigger log tells of a request. Credentials are not among it.
 *
 * @param credentials where a request to the trigger carries them
 */
export function requestFacts(
  request: SeenRequest,
  credentials: readonly Field[],
): RequestFacts {
  const hidden = new Set(
    credentials.filter((field) => field.in === "header").map(({ name }) => name.toLowerCase()),
  );
  const headers: Record<string, string> = {};
  let shown = 0;
  for (const [name, value] of request.headers) {
    if (shown++ >= HEADERS_SHOWN_MAX) break;
    headers[name.slice(0, HEADER_NAME_LENGTH_MAX)] = SHOWN_HEADERS.has(name) && !hidden.has(name)
      ? value.slice(0, HEADER_VALUE_LENGTH_MAX)
      : HIDDEN;
  }
  const { method, remoteIp: remote_ip, body } = request;
  const facts = { method, remote_ip, headers };
  return body ? { ...facts, size: body.length, sha256: hash("sha256", body) } : facts;
}
