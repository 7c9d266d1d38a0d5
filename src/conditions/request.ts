/**
 * A request as conditions see it. Nothing here knows the HTTP server: `http/door` makes one of what came in.
 *
 * @module
 */
import { isUtf8 } from "node:buffer";
import { parseExactJson } from "../platform/text/exact_json.ts";
import { mediaType } from "../platform/network/media_type.ts";
import { type BodySize, SHORT_BYTES_MAX, SHORT_NAMES_MAX, sizeOfBody } from "./body_limits.ts";
import { fieldsOfMultipart, type MultipartBody, sizeOfMultipart } from "./multipart.ts";

const TYPE_CHARACTERS_SHOWN_MAX = 100;

const utf8 = new TextDecoder();

/** A part of a body: a value, or a value in each element of a list. */
export interface BodyPart {
  /** The keys that lead to the value, or to the list; none for a form as a whole. */
  path: readonly string[];
  /** The keys that lead from an element of the list to the value. */
  each?: readonly string[];
  /** A text is read to its end, whatever its length. */
  isWhole?: true;
}

/** A request on a trigger's URL before its body is read. */
export interface RequestHead {
  readonly headers: Headers;
  readonly query: URLSearchParams;
  /** The client's address: the peer's own, or the one that a trusted proxy names. */
  readonly remoteIp: string;
}

/** A request on a trigger's URL with its whole body. */
export interface LaunchRequest extends RequestHead {
  readonly method: string;
  /** The public URL as the sender sees it, path and query included. */
  readonly url: string;
  /** The bytes of the body as they came. */
  readonly body: Uint8Array;
  /** The time at which the request line had been read, in milliseconds since the epoch. */
  readonly receivedAt_ms: number;
  /** Aborted when the sender has gone. */
  readonly signal?: AbortSignal;
  /** Holds so much memory for the bodies of this request, in place of what it held; returns false where there is none. */
  holdMemory?(bytes: number): Promise<boolean>;
  /** Returns the same request with another body. */
  withBody(body: Uint8Array, headers: Headers): LaunchRequest;
  /** Measures the body; undefined when it cannot be parsed. */
  bodySize(): BodySize | undefined;
  /**
   * Parses the body at the first call and keeps the value.
   *
   * @param part the part that the caller reads: of a long body, no other part need be there
   * @throws {PartPending} when that part of a long body is not read yet
   */
  parsedBody(part?: BodyPart): ParsedBody;
}

/** Returns the length of the body that a request declares; undefined when it declares none. */
export function declaredLength(headers: Headers): number | undefined {
  return lengthIn(headers.get("content-length"));
}

/** Returns the length that the header Content-Length says; undefined when it says none. */
export function lengthIn(contentLength: string | null | undefined): number | undefined {
  return /^\d+$/.test(contentLength ?? "") ? Number(contentLength) : undefined;
}

/** A body as JSON, as a form, as a form with files, or as none of them. Integers of JSON are as {@linkcode parseExactJson} has them. */
export type ParsedBody =
  | { kind: "json"; value: unknown }
  | { kind: "form"; fields: ReadonlyMap<string, readonly string[]> }
  | MultipartBody
  | OtherBody;

/** A body without fields; `refused` says why it was not parsed. */
export type OtherBody = { kind: "other"; refused?: string };

/** Makes a request whose body is parsed when it is first needed. */
export function launchRequest(
  parts: Omit<LaunchRequest, "parsedBody" | "bodySize" | "withBody">,
): LaunchRequest {
  const body = new RequestBody(parts.body, parts.headers.get("content-type") ?? "");
  return {
    ...parts,
    bodySize: () => body.size,
    parsedBody: () => body.parsed(),
    withBody: (body, headers) => launchRequest({ ...parts, body, headers }),
  };
}

/**
 * A body that is parsed by its content type. One of `application/x-www-form-urlencoded` is a form, unless it
 * begins with `{` or `[` and is JSON: curl's `-d` mislabels JSON so. One of `multipart/form-data` is a form with
 * files. Any other body is JSON if it parses as JSON. A body with too many values or names, or nested too deep, is neither.
 */
export class RequestBody {
  readonly #bytes: Uint8Array;
  readonly #contentType: string;
  readonly #isForm: boolean;
  readonly #onSize: (values: number) => void;
  #measured: MeasuredBody | OtherBody | undefined;
  #parsed: ParsedBody | undefined;
  #isCounted = false;

  /** @param onSize gets the number of values before they are made; where it throws, none are made */
  constructor(
    bytes: Uint8Array,
    contentType: string,
    onSize: (values: number) => void = () => {},
  ) {
    this.#bytes = bytes;
    this.#contentType = contentType;
    this.#isForm = isFormType(contentType);
    this.#onSize = onSize;
  }

  /** The size of the body; undefined when it cannot be parsed. */
  get size(): BodySize | undefined {
    const measured = this.#measure();
    return "size" in measured ? measured.size : undefined;
  }

  /** Parsing takes too long for the thread that answers requests. */
  get isLong(): boolean {
    return this.#bytes.length > SHORT_BYTES_MAX || (this.size?.names ?? 0) > SHORT_NAMES_MAX;
  }

  /**
   * Parses the body at the first call and keeps the value.
   *
   * @throws {PartPending} when it is a form with files that has not been parsed yet
   */
  parsed(): ParsedBody {
    return this.#parsed ??= this.#parse();
  }

  #measure(): MeasuredBody | OtherBody {
    return this.#measured ??= measure(this.#bytes, this.#contentType, this.#isForm);
  }

  #parse(): ParsedBody {
    const measured = this.#measure();
    if (!("size" in measured)) return measured;
    const { text, size } = measured;
    if (!this.#isCounted) this.#onSize(size.values);
    this.#isCounted = true;
    if (text === undefined) {
      const fields = fieldsOfMultipart(this.#bytes, this.#contentType, size);
      return "refused" in fields ? { kind: "other", ...fields } : fields;
    }
    if (!this.#isForm || /^\s*[{[]/.test(text)) {
      try {
        return { kind: "json", value: parseExactJson(text) };
      } catch {
        if (!this.#isForm) return { kind: "other" };
      }
    }
    return { kind: "form", fields: valuesByName(formFields(text)) };
  }
}

/** A body that can be parsed; a form with files has no text. */
interface MeasuredBody {
  text?: string;
  size: BodySize;
}

function measure(
  bytes: Uint8Array,
  contentType: string,
  isForm: boolean,
): MeasuredBody | OtherBody {
  if (isMultipartType(contentType)) {
    const size = sizeOfMultipart(bytes, contentType);
    return "refused" in size ? { kind: "other", ...size } : { size };
  }
  // Checking first takes a quarter of the time of a decoder that throws.
  if (bytes.length === 0 || !isUtf8(bytes)) return { kind: "other" };
  const text = utf8.decode(bytes);
  const size = sizeOfBody(text, isForm);
  return "refused" in size ? { kind: "other", refused: size.refused } : { text, size };
}

/** Parses a body: see {@linkcode RequestBody}. */
export function parseBody(body: Uint8Array, contentType: string): ParsedBody {
  return new RequestBody(body, contentType).parsed();
}

/** Describes a body by its length, its type and its coding. */
export function describeBody({ body, headers }: LaunchRequest): string {
  const type = headers.get("content-type")?.slice(0, TYPE_CHARACTERS_SHOWN_MAX);
  const coding = headers.get("content-encoding")?.slice(0, TYPE_CHARACTERS_SHOWN_MAX);
  const coded = coding ? `, encoded as ${coding}` : "";
  return `${body.length} bytes of ${type ? `type ${type}` : "no type"}${coded}`;
}

/** Says why a body has no fields. */
export function describeUnreadable({ refused }: OtherBody): string {
  return refused === undefined
    ? "the body is neither JSON nor a form"
    : `the body cannot be read: ${refused}`;
}

/** Groups fields by name, in their order. */
export function valuesByName(fields: URLSearchParams): Map<string, string[]> {
  const byName = new Map<string, string[]>();
  for (const [name, value] of fields) {
    const values = byName.get(name);
    if (values) values.push(value);
    else byName.set(name, [value]);
  }
  return byName;
}

/** Parses a form. A question mark at its start belongs to it, unlike that of a query. */
export function formFields(form: string): URLSearchParams {
  return new URLSearchParams(`?${form}`);
}

/** Tells whether a Content-Type header names a form with files. */
export function isMultipartType(contentType: string): boolean {
  return contentType !== "application/json" && mediaType(contentType) === "multipart/form-data";
}

/** Tells whether a Content-Type header names a form. */
export function isFormType(contentType: string): boolean {
  return contentType !== "application/json" &&
    mediaType(contentType) === "application/x-www-form-urlencoded";
}
