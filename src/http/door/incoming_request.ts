/**
 * An HTTP request as conditions see it.
 *
 * @module
 */
import type { BodySize } from "../../conditions/body_limits.ts";
import { PartPending } from "../../platform/waiting/pending.ts";
import {
  type BodyPart,
  type LaunchRequest,
  type ParsedBody,
  RequestBody,
} from "../../conditions/request.ts";
import { UnavailableError } from "../../platform/errors.ts";
import type { ParsedValueBudget } from "./parsed_value_budget.ts";
import type { SeenRequest } from "../../triggers/request_facts.ts";

/** The facts of a request that its head does not hold. */
interface IncomingFacts {
  baseUrl: string;
  remoteIp: string;
  receivedAt_ms: number;
  /** True at a launch URL, false where a sender asks how a run went. */
  isDelivery: boolean;
  /** The budget that the values of its body count against. */
  values: ParsedValueBudget;
  /** Reads a part of a long body. */
  readPart(request: LaunchRequest, part: BodyPart): Promise<ParsedBody>;
  /** Its headers, where they are not those that it came with. */
  headers?: Headers;
}

const NO_BYTES = new Uint8Array();

/**
 * A request that arrives: its head first, then its body. Its URL and its body are parsed when they are
 * first asked for: most conditions use neither.
 */
export class IncomingRequest implements LaunchRequest, SeenRequest, Disposable {
  readonly method: string;
  readonly headers: Headers;
  readonly remoteIp: string;
  readonly receivedAt_ms: number;
  readonly isDelivery: boolean;
  /** Empty until it has been read. */
  body: Uint8Array = NO_BYTES;
  /** Set when the request is answered although its body is still in use: settles when it no longer is. */
  inUse?: Promise<unknown>;
  holdMemory?: (bytes: number) => Promise<boolean>;
  readonly #request: Request;
  readonly #baseUrl: string;
  readonly #budget: ParsedValueBudget;
  #values = 0;
  #body: RequestBody | undefined;
  #query: URLSearchParams | undefined;
  readonly #facts: IncomingFacts;
  /** The same request with another body. */
  #other: IncomingRequest | undefined;
  /** The parts of a long body that have been read. */
  readonly #parts = new Map<string, ParsedBody>();

  constructor(request: Request, facts: IncomingFacts) {
    this.method = request.method;
    this.headers = facts.headers ?? request.headers;
    this.remoteIp = facts.remoteIp;
    this.receivedAt_ms = facts.receivedAt_ms;
    this.isDelivery = facts.isDelivery;
    this.#request = request;
    this.#baseUrl = facts.baseUrl;
    this.#budget = facts.values;
    this.#facts = facts;
  }

  /** The part that is known before the body is read. */
  get head(): SeenRequest {
    const { method, headers, remoteIp, queryText, isDelivery } = this;
    return { method, headers, remoteIp, queryText, isDelivery };
  }

  get query(): URLSearchParams {
    // A question mark at its start belongs to the first name.
    return this.#query ??= new URLSearchParams(`?${this.queryText}`);
  }

  get queryText(): string {
    const { target } = this;
    const question = target.indexOf("?");
    return question === -1 ? "" : target.slice(question + 1);
  }

  get url(): string {
    return this.#baseUrl + this.target;
  }

  /** Aborted when its sender has gone. Reading it at each request takes a third of Deno's throughput. */
  get signal(): AbortSignal {
    return this.#request.signal;
  }

  bodySize(): BodySize | undefined {
    return this.#readableBody().size;
  }

  /** @throws {UnavailableError} when other bodies hold too many values */
  parsedBody(part?: BodyPart): ParsedBody {
    const body = this.#readableBody();
    if (part === undefined || !body.isLong) return body.parsed();
    const key = JSON.stringify(part);
    const read = this.#parts.get(key);
    if (read !== undefined) return read;
    throw new PartPending(
      this.#facts.readPart(this, part).then((parsed) => this.#parts.set(key, parsed)),
    );
  }

  /** Returns the same request with another body, which is dropped with this one. */
  withBody(body: Uint8Array, headers: Headers): IncomingRequest {
    this.#other?.[Symbol.dispose]();
    this.#other = new IncomingRequest(this.#request, { ...this.#facts, headers });
    this.#other.body = body;
    return this.#other;
  }

  /** Drops the parsed body. */
  [Symbol.dispose](): void {
    this.#other?.[Symbol.dispose]();
    this.#budget.giveBack(this.#values);
    this.#values = 0;
    this.#body = undefined;
  }

  #readableBody(): RequestBody {
    return this.#body ??= this.#readable();
  }

  #readable(): RequestBody {
    const contentType = this.headers.get("content-type") ?? "";
    return new RequestBody(this.body, contentType, (values) => {
      if (!this.#budget.take(values)) {
        throw new UnavailableError("Cannot read a body: those under way hold too many values", 1);
      }
      this.#values = values;
    });
  }

  /**
   * The path and the query as they were sent: a `URL` writes `'` as `%27`, and senders sign the bytes that
   * they send. The host before them is the sender's text, and need not make a valid URL.
   */
  get target(): string {
    const { url } = this.#request;
    return url.slice(url.indexOf("/", url.indexOf("://") + 3));
  }
}
