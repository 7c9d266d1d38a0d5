/**
 * A named value of a request: a header, a query parameter, or a field of the body.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { isInt64 } from "../platform/text/exact_json.ts";
import { childOf, pointerParts } from "../platform/schema/pointer.ts";
import type { Refusal } from "./check.ts";
import {
  type BodyPart,
  describeBody,
  describeUnreadable,
  type LaunchRequest,
  type OtherBody,
  type RequestHead,
} from "./request.ts";

/** A list of more elements than these is not read. */
const ELEMENTS_MAX = 1_000;
/** A header's name is a token (RFC 9110 section 5.6.2). */
export const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** The error of a name that no header has. */
export const NOT_A_HEADER = "Must be the name of a header: letters, digits and !#$%&'*+-.^_`|~";
/** `~` is written `~0` and `/` is written `~1` (RFC 6901 section 3). */
const POINTER = /^(\/([^~/]|~[01])*)+$/;

/** The place of a value in a request. */
export interface Field {
  in: "header" | "query" | "body";
  /**
   * A header's name, in any case; a query parameter's name; or for the body a top-level key of JSON
   * or of a form, or a JSON Pointer (RFC 6901) when it begins with `/`.
   */
  name: string;
  /** Another name of a header, read where the request has none of the first: some providers use either. */
  other_name?: string;
  /** Of a delivery's id: another field of the same place, and one id is unique under one value of it alone. */
  scope?: string;
}

/** A field that is not in the body. */
interface HeadField extends Field {
  in: "header" | "query";
}

/** The place of a credential in a request. */
export interface CredentialField extends Field {
  /** A JSON Pointer to a list in the body: every element carries a credential, at `name` within it. */
  each?: string | undefined;
  /** The text before the credential, which is not part of it. */
  prefix?: string | undefined;
}

/** Tells whether two fields are the same, however their names are written. */
export function isSameField(
  one: Readonly<Record<"in" | "name", string>>,
  other: Readonly<Record<"in" | "name", string>>,
): boolean {
  if (one.in !== other.in) return false;
  if (one.in === "header") return one.name.toLowerCase() === other.name.toLowerCase();
  if (one.in === "body") return pathOf(one.name).join("\0") === pathOf(other.name).join("\0");
  return one.name === other.name;
}

/** Says what is wrong with a field's name; undefined where nothing is. */
export function fieldError(field: Field): string | undefined {
  if (field.in === "header" && !HEADER_NAME.test(field.name)) return NOT_A_HEADER;
  return field.in === "body" && field.name.startsWith("/") && !POINTER.test(field.name)
    ? "Must be a JSON Pointer (RFC 6901): write ~ as ~0 and / as ~1"
    : undefined;
}

/** Names a field in a refusal, such as `Header X-Token`. */
export function describeField(field: Field): string {
  const kinds = { header: "Header", query: "Query parameter", body: "Body field" };
  const other = field.other_name === undefined ? "" : ` or ${field.other_name}`;
  return `${kinds[field.in]} ${field.name}${other}`;
}

/**
 * Reads a field; a JSON number stays one, or is a bigint where it is an integer with more digits. A query parameter or a form field that comes twice is refused,
 * since senders and proxies disagree on which of the two counts. The values of a header that comes twice
 * are joined with `, ` (RFC 9110 section 5.3). Of a key that comes twice in a JSON object the last counts.
 */
export function readField(
  request: LaunchRequest,
  field: Field,
): string | number | bigint | Refusal {
  return isInHead(field) ? readHeadField(request, field) : readBodyField(request, field, {});
}

/** Tells whether a field is outside the body. */
export function isInHead<T extends Field>(field: T): field is T & HeadField {
  return field.in !== "body";
}

/** Reads a field that is not in the body, as {@linkcode readField} does. */
export function readHeadField(head: RequestHead, field: HeadField): string | Refusal {
  if (field.in === "query") return onlyOne(head.query.getAll(field.name), field);
  return head.headers.get(field.name) ?? otherHeader(head, field) ?? missing(field);
}

/** Reads a field that must be a string. */
export function readText(request: LaunchRequest, field: Field): string | Refusal {
  const value = readField(request, field);
  return typeof value === "number" || typeof value === "bigint"
    ? notA("string", field, Number(value))
    : value;
}

/**
 * Reads a field of every element of a list in a JSON body.
 *
 * @param list a JSON Pointer (RFC 6901) to the list
 * @param name a key of its elements, or a JSON Pointer into them
 * @returns the value of each element, or why one has none
 */
export function readEach(request: LaunchRequest, list: string, name: string): string[] | Refusal {
  const body = request.parsedBody({ path: pathOf(list), each: pathOf(name) });
  const field: Field = { in: "body", name: list };
  if (body.kind === "other") return unreadable(request, field, body);
  const elements = body.kind === "json" ? pathOf(list).reduce(childOf, body.value) : undefined;
  if (elements === undefined) return missing(field);
  if (!Array.isArray(elements)) return notA("list", field, elements);
  if (elements.length === 0) return { reason: `${describeField(field)} is an empty list` };
  if (elements.length > ELEMENTS_MAX) {
    return { reason: `${describeField(field)} is too long`, found: `${elements.length} elements` };
  }
  const values = elements.map((element) => pathOf(name).reduce(childOf, element));
  const other = values.findIndex((value) => typeof value !== "string");
  if (other === -1) return values.filter((value) => typeof value === "string");
  return { reason: `${describeField(field)} has no ${name} in its element ${other}` };
}

/** Reads the credentials in a field; none where it is missing or not a text. */
export function readCredentials(request: LaunchRequest, field: CredentialField): string[] {
  const read = field.each === undefined
    ? readText(request, field)
    : readEach(request, field.each, field.name);
  const texts = typeof read === "string" ? [read] : Array.isArray(read) ? read : [];
  return texts.filter((text) => text !== "");
}

/**
 * Returns the bytes of a value that was read. Each character of a header stands for one byte, whatever
 * encoding the sender meant; all else was decoded from UTF-8 and is encoded again.
 */
export function bytesOf(field: Field, text: string): Uint8Array {
  return Buffer.from(text, field.in === "header" ? "latin1" : "utf8");
}

/** Reads the bytes of a field, which are signed and so read to their end; a JSON number is written as usual. */
export function readBytes(request: LaunchRequest, field: Field): Uint8Array | Refusal {
  const value = isInHead(field)
    ? readHeadField(request, field)
    : readBodyField(request, field, { isWhole: true });
  return typeof value === "object" ? value : bytesOf(field, String(value));
}

function otherHeader({ headers }: RequestHead, { other_name }: Field): string | null {
  return other_name === undefined ? null : headers.get(other_name);
}

function readBodyField(
  request: LaunchRequest,
  field: Field,
  how: Pick<BodyPart, "isWhole">,
): string | number | bigint | Refusal {
  const path = pathOf(field.name);
  const body = request.parsedBody({ path, ...how });
  switch (body.kind) {
    case "other":
      return unreadable(request, field, body);
    case "form":
    case "multipart": {
      const [name, ...deeper] = path;
      if (name === undefined || deeper.length > 0) return missing(field);
      const values = body.fields.get(name) ?? [];
      const texts = values.filter((value) => typeof value === "string");
      return texts.length < values.length ? notA("text", field, {}) : onlyOne(texts, field);
    }
    case "json": {
      const value = path.reduce(childOf, body.value);
      if (typeof value === "string") return value;
      if (typeof value === "number" || typeof value === "bigint") {
        return isKept(value) ? value : beyond(field);
      }
      return value === undefined ? missing(field) : notA("string", field, value);
    }
  }
}

/** Splits a JSON Pointer (RFC 6901) into its keys; any other name is one key. */
export function pathOf(name: string): string[] {
  return name.startsWith("/") ? pointerParts(name) : [name];
}

function onlyOne(values: readonly string[], field: Field): string | Refusal {
  const [value, ...others] = values;
  if (value === undefined) return missing(field);
  if (others.length === 0) return value;
  return {
    reason: `${describeField(field)} is ambiguous: it comes more than once`,
    found: `${values.length} values`,
  };
}

function unreadable(request: LaunchRequest, field: Field, body: OtherBody): Refusal {
  const reason = `${describeField(field)} is missing: ${describeUnreadable(body)}`;
  return { reason, found: describeBody(request) };
}

function missing(field: Field): Refusal {
  return { reason: `${describeField(field)} is missing` };
}

/** Tells whether a number is the one that was sent. */
function isKept(value: number | bigint): boolean {
  return typeof value === "bigint" ? isInt64(value) : Number.isFinite(value);
}

function beyond(field: Field): Refusal {
  return {
    reason: `${describeField(field)} is a number that is too large`,
    expected: "a text, or an integer of 64 bits",
  };
}

function notA(expected: string, field: Field, value: unknown): Refusal {
  const kind = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  return { reason: `${describeField(field)} is not a ${expected}`, expected, found: kind };
}
