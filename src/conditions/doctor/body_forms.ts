/**
 * The bodies that a sender may have signed in place of the one that came.
 *
 * @module
 */
import { Buffer, isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { formFields, isFormType, type LaunchRequest, launchRequest } from "../request.ts";
import { decode } from "../signing/encoding.ts";
import { parseRawJson } from "../../platform/text/exact_json.ts";
import { isTooDeep, jsonForms } from "./json_forms.ts";

/** A longer body is not written anew, which would hold up others. */
const REWRITTEN_BYTES_MAX = 256 * 1024;
const UNPACKED_BYTES_MAX = 1024 * 1024;
const BYTE_ORDER_MARK = "\ufeff";
const LATIN_1 = /^[\0-\xff]*$/;

/** A request that the sender may have signed, and how it differs from the one that came. */
export interface Variant {
  request: LaunchRequest;
  difference?: string;
}

/** A body, and a sentence about it. */
interface BodyForm {
  body: Uint8Array;
  difference: string;
}

/** The JSON of bodies, which takes long to parse. */
const parsed = new WeakMap<Uint8Array, { json: unknown }>();

/**
 * Lists the request with other bodies, the likeliest first; undefined stands for a body that was listed already, which
 * takes as long to make.
 */
export function* bodyVariants(request: LaunchRequest): Generator<Variant | undefined> {
  const seen = new Set([hash("sha256", request.body)]);
  for (const { body, difference } of bodyForms(request)) {
    const key = hash("sha256", body);
    const isNew = !seen.has(key);
    seen.add(key);
    yield isNew ? { request: launchRequest({ ...request, body }), difference } : undefined;
  }
}

/** Returns true for a body whose rewritten forms are not tried. */
export function isTooLongToRewrite({ body }: LaunchRequest): boolean {
  return body.length > REWRITTEN_BYTES_MAX || isTooDeep(jsonOf(body));
}

function* bodyForms(request: LaunchRequest): Generator<BodyForm> {
  const { body } = request;
  yield {
    body: new Uint8Array(),
    difference: "Signed as if the body were empty: let the sender sign the bytes that it sends.",
  };
  const unpacked = unpack(body);
  if (unpacked !== undefined) {
    const difference =
      "Signed before the body was compressed: let the sender sign what it sends, or send it uncompressed.";
    yield { body: unpacked, difference };
  }
  if (!isUtf8(body)) return;
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(body);
  for (const { words, text: other } of lineForms(text)) yield changed(words, other);
  if (isTooLongToRewrite(request)) return;
  const json = jsonOf(body);
  yield* wrapped(text, json);
  if (isFormType(request.headers.get("content-type") ?? "")) yield* formForms(text);
  yield* rewritten(json);
}

function* lineForms(text: string): Generator<{ words: string; text: string }> {
  // Trimming removes it, too.
  yield text.startsWith(BYTE_ORDER_MARK)
    ? { words: "the body without the byte order mark before it", text: text.slice(1) }
    : { words: "the body with a byte order mark before it", text: BYTE_ORDER_MARK + text };
  const trimmed = text.trim();
  if (/\s$/.test(text)) {
    yield { words: "the body without the line break at its end", text: text.replace(/\r?\n$/, "") };
    yield { words: "the body without white space at its end", text: text.trimEnd() };
  }
  yield { words: "the body with a line break at its end", text: `${text}\n` };
  yield { words: "the body with a line break (CR LF) at its end", text: `${text}\r\n` };
  yield { words: "the body without white space around it", text: trimmed };
  yield {
    words: "the body with line ends LF in place of CR LF",
    text: text.replaceAll("\r\n", "\n"),
  };
  yield {
    words: "the body with line ends CR LF in place of LF",
    text: text.replaceAll(/\r?\n/g, "\r\n"),
  };
}

/** Bodies inside of the body, and the body inside of another. */
function* wrapped(text: string, json: unknown): Generator<BodyForm> {
  const bytes = decode(text.trim(), "base64");
  if (bytes !== undefined && bytes.length > 0) {
    const difference = "The body came encoded in base64, and is signed as it was before: let the " +
      "gateway pass it on decoded.";
    yield { body: bytes, difference };
  }
  if (LATIN_1.test(text)) {
    const words = "the body in Latin-1 in place of UTF-8";
    yield { body: Buffer.from(text, "latin1"), difference: onItsWay(words) };
  }
  if (typeof json === "string") {
    yield {
      body: new TextEncoder().encode(json),
      difference: "The body is JSON inside of a JSON text, and the inner JSON is signed: let the " +
        "sender send it as it is.",
    };
  }
  yield {
    body: new TextEncoder().encode(JSON.stringify(text)),
    difference:
      "Signed as JSON inside of a JSON text: let the sender sign the bytes that it sends.",
  };
}

function* formForms(text: string): Generator<BodyForm> {
  const fields = formFields(text);
  const payload = fields.get("payload");
  if (payload !== null) {
    yield {
      body: new TextEncoder().encode(payload),
      difference:
        "Signed is the form's field `payload` alone: let the sender use the content type " +
        "application/json.",
    };
  }
  yield changed("the form as browsers encode it", fields.toString());
  yield changed("the form with `%20` in place of `+`", text.replaceAll("+", "%20"));
  yield changed("the form with `+` in place of `%20`", text.replaceAll("%20", "+"));
  const lower = text.replaceAll(/%[0-9A-Fa-f]{2}/g, (code) => code.toLowerCase());
  const upper = text.replaceAll(/%[0-9A-Fa-f]{2}/g, (code) => code.toUpperCase());
  yield changed("the form with percent codes in lower case", lower);
  yield changed("the form with percent codes in upper case", upper);
  const decoded = [...fields].map(([name, value]) => `${name}=${value}`).join("&");
  yield changed("the form with its percent codes decoded", decoded);
  yield {
    body: new TextEncoder().encode(JSON.stringify(Object.fromEntries(fields))),
    difference: "Signed as JSON and sent as a form: let the sender sign the bytes that it sends.",
  };
}

function* rewritten(json: unknown): Generator<BodyForm> {
  if (typeof json !== "object" || json === null) return;
  for (const { words, text: other } of jsonForms(json)) yield changed(words, other);
  for (const { words, text: other } of jsonForms(json)) {
    yield changed(`${words}, with a line break at its end`, `${other}\n`);
  }
  const values = Object.entries(json);
  if (values.every(([, value]) => typeof value === "string")) {
    yield {
      body: new TextEncoder().encode(new URLSearchParams(values).toString()),
      difference: "Signed as a form and sent as JSON: let the sender sign the bytes that it sends.",
    };
  }
}

function changed(words: string, text: string): BodyForm {
  return { body: new TextEncoder().encode(text), difference: onItsWay(words) };
}

function onItsWay(words: string): string {
  return `The body was changed on its way, or after it was signed: ${words} would match. Let no ` +
    "proxy or framework rewrite bodies.";
}

/** Returns the JSON of a body; undefined where it is none. It is parsed once. */
function jsonOf(body: Uint8Array): unknown {
  const known = parsed.get(body) ?? { json: tryJson(new TextDecoder().decode(body)) };
  parsed.set(body, known);
  return known.json;
}

function tryJson(text: string): unknown {
  try {
    return parseRawJson(text);
  } catch {
    return undefined;
  }
}

function unpack(body: Uint8Array): Uint8Array | undefined {
  if (body[0] !== 0x1f || body[1] !== 0x8b) return undefined;
  try {
    return gunzipSync(body, { maxOutputLength: UNPACKED_BYTES_MAX });
  } catch {
    return undefined;
  }
}
