/**
 * Bodies without the credentials in them: what views, downloads and searches show, and what is stored where a
 * condition says so. All else of a body stays byte by byte as it came.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { delay } from "@std/async/delay";
import { pointer, pointerParts } from "../platform/schema/pointer.ts";
import { type CredentialField, pathOf } from "./field.ts";
import { partsOfMultipart } from "./multipart.ts";
import { formFields, isFormType, isMultipartType } from "./request.ts";
import { SECRET_MASK } from "./secret.ts";

/** A longer body is not parsed: whether it is JSON is seen by where its objects and lists end. */
const CHECKED_BYTES_MAX = 1024 * 1024;
/** Values after which others have their turn. */
const VALUES_AT_ONCE = 20_000;
const MASK = Buffer.from(SECRET_MASK);
const QUOTED_MASK = JSON.stringify(SECRET_MASK);
/** Stands for any element of a list in the path to a field. */
const ANY = "*";
/** A shorter credential is not looked for elsewhere in the body: most texts hold such a one. */
const COPY_LENGTH_MIN = 6;
/** A text that holds a credential holds the beginning of it. */
const COPY_LENGTH_MAX = 4_096;
/** The most credentials that are looked for. With more, any text may hold one. */
const COPIES_MAX = 64;
/** The characters around the texts and the numbers of JSON. */
const NO_TEXT = /[\s{}[\],:]/;
/** The bytes of a byte order mark, which is no part of a name. */
const BYTE_ORDER_MARK = "\xef\xbb\xbf";
/** The parameters of the header of a part that names it (RFC 7578 section 4.2). */
const DISPOSITION =
  /^content-disposition:[ \t]*form-data((?:[ \t]*;[ \t]*[\w*-]+=(?:"(?:[^"\\]|\\.)*"|[^\s";]*))*)[ \t]*$/;
const PARAMETER = /;[ \t]*([\w*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";]*))/g;
/** A scheme, and the credential after it. */
const SCHEME = /^\S+ +(\S.*)$/s;

type Path = readonly string[];

/** Returns JSON Pointers to the fields of a body that carry credentials, with `*` for any element of a list. */
export function maskedFieldsOf(credentials: readonly CredentialField[]): string[] {
  return credentials.filter((field) => field.in === "body").map(({ name, each }) =>
    each === undefined ? pointer(...pathOf(name)) : pointer(...pathOf(each), ANY, ...pathOf(name))
  );
}

/**
 * Masks fields of a body, each time that one comes, whatever kind of value it has, and what holds a copy of one. A
 * body that is neither JSON nor a form is masked whole: nothing tells where the credential is in it.
 */
export async function maskBody(
  body: Uint8Array,
  contentType: string,
  fields: readonly string[],
): Promise<Uint8Array> {
  if (fields.length === 0 || body.length === 0) return body;
  // One character a byte, so that a place in the text is a place in the body.
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString("latin1");
  const isForm = isFormType(contentType);
  if (isMultipartType(contentType)) {
    const spans = multipartSpans(text, partsOfMultipart(body, contentType), fields);
    return spans === undefined ? MASK : withoutSpans(body, spans);
  }
  if ((!isForm || /^(?:\xef\xbb\xbf)?\s*[{[]/.test(text)) && isJson(body)) {
    const spans = await jsonSpans(text, fields.map(pointerParts));
    if (spans !== undefined) return withoutSpans(body, spans);
  }
  const spans = isForm ? formSpans(text, fields) : undefined;
  return spans === undefined ? MASK : withoutSpans(body, spans);
}

function isJson(body: Uint8Array): boolean {
  if (body.length > CHECKED_BYTES_MAX) return true;
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    return true;
  } catch {
    return false;
  }
}

/** A part of a body: its first byte, and the one behind it. */
type Span = readonly [start: number, end: number, mask: string];

function withoutSpans(body: Uint8Array, spans: readonly Span[]): Uint8Array {
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const [start, end, mask] of spans) {
    parts.push(body.subarray(at, start), Buffer.from(mask));
    at = end;
  }
  parts.push(body.subarray(at));
  return Buffer.concat(parts);
}

/** The texts that are credentials, and those behind a scheme. */
class Copies {
  readonly #texts = new Set<string>();

  add(text: string): void {
    const start = text.slice(0, COPY_LENGTH_MAX);
    for (const each of [start, SCHEME.exec(start)?.[1] ?? ""]) {
      if (each.length >= COPY_LENGTH_MIN) this.#texts.add(each);
    }
  }

  get size(): number {
    return this.#texts.size;
  }

  /** Returns true when a text holds one of them. */
  isIn(text: string): boolean {
    for (const each of this.#texts) if (text.includes(each)) return true;
    return false;
  }
}

/** Returns the places of fields and of their copies; undefined where there are too many credentials. */
function formSpans(text: string, fields: readonly string[]): Span[] | undefined {
  const names = new Set(fields.map((field) => pointerParts(field)[0]));
  const copies = new Copies();
  let start = startOf(text);
  const parts = text.slice(start).split("&").map((part) => {
    const [[name = "", value = ""] = []] = [
      ...formFields(Buffer.from(part, "latin1").toString("utf8")),
    ];
    const isCredential = names.has(name);
    if (isCredential) copies.add(value);
    const place = { start, end: start + part.length, equals: part.indexOf("=") };
    start = place.end + 1;
    return { ...place, name, value, isCredential };
  });
  if (copies.size > COPIES_MAX) return undefined;
  return parts.flatMap(({ start, end, equals, name, value, isCredential }): Span[] => {
    if (copies.isIn(name)) return [[start, end, SECRET_MASK]];
    const isHidden = equals !== -1 && (isCredential || copies.isIn(value));
    return isHidden ? [[start + equals + 1, end, SECRET_MASK]] : [];
  });
}

/**
 * Returns the places of the parts that are fields, and of those that hold a copy of one; undefined where a part does
 * not say its name as usual, or there are too many credentials.
 */
function multipartSpans(
  text: string,
  places: ReturnType<typeof partsOfMultipart>,
  fields: readonly string[],
): Span[] | undefined {
  const names = new Set(fields.map((field) => pointerParts(field)[0]));
  const copies = new Copies();
  const parts = places?.map(([start, end]) => {
    const part = text.slice(start, end);
    const headLength = part.indexOf("\r\n\r\n");
    const head = headLength === -1 ? part : part.slice(0, headLength);
    const at = start + head.length + 4;
    const content = text.slice(at, end);
    const name = headLength === -1 ? undefined : nameOfPart(head);
    const isCredential = names.has(name);
    if (isCredential) copies.add(content.replace(BYTE_ORDER_MARK, ""));
    return { start, at, end, head, content, name, isCredential };
  });
  if (parts === undefined || copies.size > COPIES_MAX) return undefined;
  const isUsual = parts.every(({ name, head }) => name !== undefined && !copies.isIn(head));
  // What stands before the first part and behind the last one means nothing.
  const outside = [text.slice(0, parts[0]?.start), text.slice(parts.at(-1)?.end)];
  const isOutside = outside.some((each) => copies.isIn(each));
  if (!isUsual || isOutside) return undefined;
  return parts.flatMap(({ at, end, content, isCredential }): Span[] =>
    isCredential || copies.isIn(content) ? [[at, end, SECRET_MASK]] : []
  );
}

/** Returns the name in the headers of a part, of which each character stands for one byte. */
function nameOfPart(head: string): string | undefined {
  const lines = head.split("\r\n").filter((line) => /^content-disposition/i.test(line));
  const [, parameters = ""] =
    DISPOSITION.exec((lines[0] ?? "").replace(/^[^:]*/, (each) => each.toLowerCase())) ?? [];
  const found = [...parameters.matchAll(PARAMETER)].filter(([, key]) => key === "name");
  const [[, , quoted, plain = ""] = []] = found;
  // A line that begins with a space goes on with the one above (RFC 5322 section 2.2.3).
  if (lines.length !== 1 || found.length !== 1 || /\r\n[ \t]/.test(head)) return undefined;
  const name = quoted?.replaceAll(/\\(["\\])/g, "$1") ?? plain;
  return Buffer.from(name, "latin1").toString("utf8");
}

function startOf(text: string): number {
  return text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
}

/** An object or a list that has begun. */
interface Frame {
  isList: boolean;
  /** The key of the value that comes, or its place in the list. */
  key: string | number;
  /** In an object, a key comes next. */
  expectsKey: boolean;
}

/**
 * Returns the places of fields and of their copies; undefined where the text is not one whole value of JSON, or there
 * are too many credentials.
 */
async function jsonSpans(text: string, paths: readonly Path[]): Promise<Span[] | undefined> {
  const spans = await spansIn(text, paths);
  if (spans === undefined) return undefined;
  const copies = new Copies();
  for (const [start, end] of spans) addTexts(text.slice(start, end), copies);
  if (copies.size > COPIES_MAX) return undefined;
  return copies.size === 0 ? spans : await spansIn(text, paths, copies);
}

/** Adds the texts and the numbers in a value of JSON, of which each character stands for one byte, but for keys. */
function addTexts(written: string, copies: Copies): void {
  for (let at = 0; at < written.length && copies.size <= COPIES_MAX;) {
    if (NO_TEXT.test(written[at] ?? "")) {
      at++;
      continue;
    }
    const end = written[at] === '"' ? endOfString(written, at) : endOfValue(written, at);
    const text = written.slice(at, end);
    at = end;
    while (/\s/.test(written[at] ?? "")) at++;
    if (written[at] !== ":") copies.add(textOf(text));
  }
}

/** Returns the text that a string or a number of JSON stands for. Each of its characters stands for one byte. */
function textOf(written: string): string {
  if (!written.includes("\\")) return written.replace(/^"|"$/g, "");
  return Buffer.from(keyIn(written), "utf8").toString("latin1");
}

async function spansIn(
  text: string,
  paths: readonly Path[],
  copies = new Copies(),
): Promise<Span[] | undefined> {
  const spans: Span[] = [];
  const frames: Frame[] = [];
  let values = 0;
  let roots = 0;
  for (let at = startOf(text); at < text.length;) {
    const sign = text[at] ?? "";
    const frame = frames.at(-1);
    if (sign === "}" || sign === "]") frames.pop();
    if (sign === ",") next(frame);
    if (/[\s,:}\]]/.test(sign)) {
      at++;
      continue;
    }
    if (frame?.expectsKey) {
      const end = endOfString(text, at);
      frame.key = keyIn(text.slice(at, end));
      if (copies.isIn(textOf(text.slice(at, end)))) spans.push([at, end, QUOTED_MASK]);
      frame.expectsKey = false;
      at = end;
      continue;
    }
    if (++values % VALUES_AT_ONCE === 0) await delay(0);
    if (frames.length === 0) roots++;
    if (paths.some((path) => isAt(path, frames))) {
      const end = endOfValue(text, at);
      spans.push([at, end, QUOTED_MASK]);
      at = end;
    } else if (sign === "{" || sign === "[") {
      frames.push({ isList: sign === "[", key: 0, expectsKey: sign === "{" });
      at++;
    } else {
      const end = endOfValue(text, at);
      if (copies.isIn(textOf(text.slice(at, end)))) spans.push([at, end, QUOTED_MASK]);
      at = end;
    }
  }
  return roots === 1 && frames.length === 0 ? spans : undefined;
}

function next(frame: Frame | undefined): void {
  if (frame === undefined) return;
  if (typeof frame.key === "number" && frame.isList) frame.key++;
  else frame.expectsKey = true;
}

function isAt(path: Path, frames: readonly Frame[]): boolean {
  return path.length === frames.length && path.every((part, index) => {
    const { isList = false, key = "" } = frames[index] ?? {};
    return part === String(key) || part === ANY && isList;
  });
}

/** Reads a key, of which each character stands for one byte, as JSON and UTF-8 have it. */
function keyIn(quoted: string): string {
  try {
    return String(JSON.parse(Buffer.from(quoted, "latin1").toString("utf8")));
  } catch {
    return "";
  }
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

/** Finds the end of a value, with all that is in it. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length;) {
    const sign = text[at] ?? "";
    if (sign === '"') at = endOfString(text, at);
    else {
      if (/[{[]/.test(sign)) depth++;
      if (/[}\]]/.test(sign)) depth--;
      // What ends the object or the list around the value is no part of it.
      if (depth < 0 || depth === 0 && /[\s,]/.test(sign)) return at;
      at++;
    }
    if (depth === 0 && /["}\]]/.test(text[at - 1] ?? "")) return at;
  }
  return text.length;
}
