/**
 * What a condition sees of a request. Nothing here knows the HTTP server: `http/` makes one of these
 * from what came in, a test makes one by hand.
 *
 * @module
 */
import { isUtf8 } from "node:buffer";
import { mediaType } from "../platform/text/media_type.ts";
import { sizeOfBody } from "./body_limits.ts";
import type { TimeShare } from "./cel/meter.ts";

const TYPE_CHARACTERS_SHOWN_MAX = 100;

const utf8 = new TextDecoder();

/** A request on a trigger's URL before its body is read. */
export interface RequestHead {
  readonly headers: Headers;
  readonly query: URLSearchParams;
  /** The client's address: the peer's, or what a trusted proxy says. */
  readonly remoteIp: string;
}

/** A request on a trigger's URL, its body read to the end. Its payload filters share one time. */
export interface LaunchRequest extends RequestHead, TimeShare {
  readonly method: string;
  /** The public URL as the sender sees it, path and query included. */
  readonly url: string;
  /** The bytes of the body exactly as they came. */
  readonly body: Uint8Array;
  /** When the request line had been read, in milliseconds since the epoch by the wall clock. */
  readonly receivedAt_ms: number;
  /** The body as a value; parsed at the first call and kept. */
  parsedBody(): ParsedBody;
}

/** A body read as JSON, or as a form, or as neither; `refused` says why it was not looked at. */
export type ParsedBody =
  | { kind: "json"; value: unknown }
  | { kind: "form"; fields: ReadonlyMap<string, readonly string[]> }
  | OtherBody;

/** A body that has no fields. */
export type OtherBody = { kind: "other"; refused?: string };

/** Makes a request whose body is parsed when it is first asked for. */
export function launchRequest(parts: Omit<LaunchRequest, "parsedBody">): LaunchRequest {
  let parsed: ParsedBody | undefined;
  return {
    ...parts,
    parsedBody: () => parsed ??= parseBody(parts.body, parts.headers.get("content-type") ?? ""),
  };
}

/**
 * Reads a body by its content type: `application/x-www-form-urlencoded` is a form; anything else is
 * JSON if it parses as JSON, since senders mislabel it (curl's `-d` sends JSON as a form: a body of
 * that type which begins with `{` or `[` and parses as JSON is JSON). A body of too many values or
 * names, or nested too deep, is neither.
 *
 * @param onSize told how many values are about to be made; where it throws, none are
 */
export function parseBody(
  body: Uint8Array,
  contentType: string,
  onSize: (values: number) => void = () => {},
): ParsedBody {
  if (body.length === 0) return { kind: "other" };
  // To look first and then decode takes a quarter of the time of a decoder that throws.
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

/** What is sent as a body, by its length and by what its sender calls it. */
export function describeBody({ body, headers }: LaunchRequest): string {
  const type = headers.get("content-type")?.slice(0, TYPE_CHARACTERS_SHOWN_MAX);
  const coding = headers.get("content-encoding")?.slice(0, TYPE_CHARACTERS_SHOWN_MAX);
  const coded = coding ? `, encoded as ${coding}, which is not undone` : "";
  return `${body.length} bytes of ${type ? `type ${type}` : "no type"}${coded}`;
}

/** Why a body has no fields. */
export function whyUnreadable({ refused }: OtherBody): string {
  return refused === undefined
    ? "the body is neither JSON nor a form"
    : `the body cannot be read: ${refused}`;
}

/** All values of each name, in the order in which they come. */
export function valuesByName(fields: URLSearchParams): Map<string, string[]> {
  const byName = new Map<string, string[]>();
  for (const [name, value] of fields) {
    const values = byName.get(name);
    if (values) values.push(value);
    else byName.set(name, [value]);
  }
  return byName;
}

/** The fields of a form: a question mark that it begins with is its own, unlike that of a query. */
export function formFields(form: string): URLSearchParams {
  return new URLSearchParams(`?${form}`);
}

/** Whether a Content-Type header says that a body is a form. */
export function isFormType(contentType: string): boolean {
  return contentType !== "application/json" &&
    mediaType(contentType) === "application/x-www-form-urlencoded";
}
