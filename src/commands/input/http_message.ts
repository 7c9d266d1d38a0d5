/**
 * Reading an HTTP request as it is sent (RFC 9112): a request line, headers, an empty line, and the body.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { InvalidInputError } from "../../platform/errors.ts";

const REQUEST_LINE = /^([A-Z]{1,16}) (\S+)(?: HTTP\/[\d.]+)?$/;
const HEADER_LINE = /^([^\s:]+):[ \t]*(.*?)[ \t]*$/;
/** The line before a chunk: its size, and extensions. */
const CHUNK_LINE = /([0-9a-f]{1,8})(?:[ \t]*;[^\r\n]*)?\r?\n/iy;

/** A request that was written to a file. */
export interface HttpMessage {
  method: string;
  /** The path with its query, or the whole URL; undefined where the file has no request line. */
  target: string | undefined;
  headers: Record<string, string>;
  body: Uint8Array;
}

/**
 * Parses a request. Its lines end with LF or CR LF, and the request line may be missing. What stands behind the
 * number of bytes in `Content-Length`, or behind the last chunk, is no part of the body.
 *
 * @throws {InvalidInputError} when a line is no header
 */
export function parseHttpMessage(bytes: Uint8Array): HttpMessage {
  const text = Buffer.from(bytes).toString("latin1");
  const end = /\r?\n\r?\n/.exec(text);
  const head = end === null ? text.trimEnd() : text.slice(0, end.index);
  const lines = head.split(/\r?\n/).filter((line) => line !== "");
  const [, method, target] = REQUEST_LINE.exec(lines[0] ?? "") ?? [];
  const headers = headersOf(method === undefined ? lines : lines.slice(1));
  const rest = end === null ? new Uint8Array() : bytes.subarray(end.index + end[0].length);
  const length = headers["content-length"] ?? "";
  const isChunked = /\bchunked$/i.test(headers["transfer-encoding"] ?? "");
  const whole = isChunked ? unchunked(rest) ?? rest : rest;
  const body = !isChunked && /^\d+$/.test(length) ? rest.subarray(0, Number(length)) : whole;
  return { method: method ?? "POST", target, headers, body };
}

/**
 * Joins the chunks of a body (RFC 9112 section 7.1); undefined where it has none, as tools write that decode a body and
 * keep its header.
 */
function unchunked(bytes: Uint8Array): Uint8Array | undefined {
  const text = Buffer.from(bytes).toString("latin1");
  const chunks: Uint8Array[] = [];
  for (let at = 0;;) {
    CHUNK_LINE.lastIndex = at;
    const [line, hex] = CHUNK_LINE.exec(text) ?? [];
    if (line === undefined || hex === undefined) return undefined;
    const size = parseInt(hex, 16);
    if (size === 0) return Buffer.concat(chunks);
    const start = at + line.length;
    chunks.push(bytes.subarray(start, start + size));
    at = start + size;
    at += text.startsWith("\r\n", at) ? 2 : 1;
  }
}

/** Reads header lines. The values of a header that comes twice are joined (RFC 9110 section 5.3). */
export function headersOf(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    // What HTTP/2 has in place of a request line.
    if (line.startsWith(":")) continue;
    const [, name, value = ""] = HEADER_LINE.exec(line) ?? [];
    if (name === undefined) {
      throw new InvalidInputError(
        "the request",
        `Expected a header, such as "Content-Type: application/json", found "${line.slice(0, 80)}"`,
      );
    }
    const before = headers[name.toLowerCase()];
    headers[name.toLowerCase()] = before === undefined ? value : `${before}, ${value}`;
  }
  return headers;
}
