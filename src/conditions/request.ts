/**
 * A request as conditions see it. Nothing here knows the HTTP server: `http/door` makes one of what came in.
 *
 * @module
 */
import { isUtf8 } from "node:buffer";
import { mediaType } from "../platform/network/media_type.ts";
import { sizeOfBody } from "./body_limits.ts";
import type { TimeShare } from "./cel/meter.ts";

const TYPE_CHARACTERS_SHOWN_MAX = 100;

const utf8 = new TextDecoder();

/** A request on a trigger's URL before its body is read. */
export interface RequestHead {
  readonly headers: Headers;
  readonly query: URLSearchParams;
  /** The client's address: the peer's own, or the one that a trusted proxy names. */
  readonly remoteIp: string;
}

/** A request on a trigger's URL with its whole body. Its payload filters share one time limit. */
export interface LaunchRequest extends RequestHead, TimeShare {
  readonly method: string;
  /** The public URL as the sender sees it, path and query included. */
  readonly url: string;
  /** The bytes of the body as they came. */
  readonly body: Uint8Array;
  /** The time at which the request line had been read, in milliseconds since the epoch. */
  readonly receivedAt_ms: number;
  /** Parses the body at the first call and keeps the value. */
  parsedBody(): ParsedBody;
}

/** Returns the length of the body that a request declares; undefined when it declares none. */
export function declaredLength(headers: Headers): number | undefined {
  const length = headers.get("content-length");
  return length !== null && /^\d+$/.test(length) ? Number(length) : undefined;
}

/** A body as JSON, as a form, or as neither. */
export type ParsedBody =
  | { kind: "json"; value: unknown }
  | { kind: "form"; fields: ReadonlyMap<string, readonly string[]> }
  | OtherBody;

/** A body without fields; `refused` says why it was not parsed. */
export type OtherBody = { kind: "other"; refused?: string };

/** Makes a request. Its body is parsed at the first call. */
export function launchRequest(parts: Omit<LaunchRequest, "parsedBody">): LaunchRequest {
  let parsed: ParsedBody | undefined;
  return {
    ...parts,
    parsedBody: () => parsed ??= parseBody(parts.body, parts.headers.get("content-type") ?? ""),
  };
}

/**
 * Parses a body by its content type. One of `application/x-www-form-urlencoded` is a form, unless it begins
 * with `{` or `[` and is JSON: curl's `-d` mislabels JSON so. Any other body is JSON if it parses as JSON.
 * A body with too many values or names, or nested too deep, is neither.
 *
 * @param onSize gets the number of values before they are made; where it throws, none are made
 */
export function parseBody(
  body: Uint8Array,
  contentType: string,
  onSize: (values: number) => void = () => {},
): ParsedBody {
  if (body.length === 0) return { kind: "other" };
  // Checking first takes a quarter of the time of a decoder that throws.
  if (!isUtf8(body)) return { kind: "other" };
  const text = utf8.decode(body);
  const isForm = isFormType(contentType);
  const size = sizeOfBody(text, isForm);
  if ("refused" in size) return { kind: "other", refused: size.refused };
  onSize(size.values);
  if (!isForm || /^\s*[{[]/.test(text)) {
    try {
      return { kind: "json", value: JSON.parse(text) };
    } catch {
      if (!isForm) return { kind: "other" };
    }
  }
  return { kind: "form", fields: valuesByName(formFields(text)) };
}

/** Describes a body by its length and its headers. */
export function describeBody({ body, headers }: LaunchRequest): string {
  const type = headers.get("content-type")?.slice(0, TYPE_CHARACTERS_SHOWN_MAX);
  const coding = headers.get("content-encoding")?.slice(0, TYPE_CHARACTERS_SHOWN_MAX);
  const coded = coding ? `, encoded as ${coding}, which is not undone` : "";
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

/** Tells whether a Content-Type header names a form. */
export function isFormType(contentType: string): boolean {
  return contentType !== "application/json" &&
    mediaType(contentType) === "application/x-www-form-urlencoded";
}
