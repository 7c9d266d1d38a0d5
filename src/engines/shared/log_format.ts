/**
 * The format of an execution's log. A log is a file of records:
 *
 * - A chunk: a line of JSON, which is its head, and then the bytes as the command printed them. A chunk holds
 *   whole lines of one stream. It is decoded when a page of the log is read, never when it is stored.
 * - An event: a line of JSON with a message of Hooklaunch's own.
 *
 * Earlier versions stored each printed line as a line of JSON like an event's. Such logs are read as well.
 *
 * @module
 */
import { parseJson } from "../../platform/text/parse_json.ts";
import type { LogLine } from "../engine.ts";

/** The longest text of a line, in bytes. The rest is cut off. */
export const LINE_BYTES_MAX = 16 * 1024;
/** The most bytes of one chunk. */
export const CHUNK_BYTES_MAX = 64 * 1024;
/** More than any record has. The longest are lines of JSON with escaped characters. */
export const RECORD_BYTES_MAX = 256 * 1024;

const LINE_BREAK = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The head of a chunk. */
interface ChunkHead {
  /** The time at which the chunk was read from the command, RFC 3339. */
  time: string;
  stream: "stdout" | "stderr";
  /** The offset in the stream behind the chunk. */
  end: number;
  /** The length of the chunk. */
  bytes: number;
}

/** A line that is stored as JSON. */
export interface StoredLine extends LogLine {
  /** The offset in the stream behind the line, in logs of earlier versions. */
  end?: number;
  /** True when the command starts again here, so that the offsets of its streams begin at 0. */
  isRestart?: true;
}

/** A record of a log, and its length in the file. */
export type LogRecord =
  & { length: number }
  & ({ head: ChunkHead; content: Uint8Array } | { line: StoredLine } | { isUnknown: true });

/** Returns the bytes of a line's record. */
export function encodeLine(line: StoredLine): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(line)}\n`);
}

/** Returns the bytes of a chunk's record. */
export function encodeChunk(head: Omit<ChunkHead, "bytes">, content: Uint8Array): Uint8Array {
  const line = JSON.stringify({ ...head, bytes: content.length });
  const first = new TextEncoder().encode(`${line}\n`);
  const record = new Uint8Array(first.length + content.length);
  record.set(first);
  record.set(content, first.length);
  return record;
}

/**
 * Parses the first record of some bytes. The content of a chunk is a view of them.
 *
 * @returns undefined when the record is not complete
 */
export function parseRecord(bytes: Uint8Array): LogRecord | undefined {
  const at = bytes.indexOf(LINE_BREAK);
  if (at === -1) return undefined;
  const parsed = parseJson(decoder.decode(bytes.subarray(0, at)));
  if (isChunkHead(parsed)) {
    const length = at + 1 + parsed.bytes;
    if (bytes.length < length) return undefined;
    return { length, head: parsed, content: bytes.subarray(at + 1, length) };
  }
  if (isStoredLine(parsed)) return { length: at + 1, line: parsed };
  // A damaged file, or an offset within a record.
  return { length: at + 1, isUnknown: true };
}

function isChunkHead(value: unknown): value is ChunkHead {
  if (typeof value !== "object" || value === null || !("bytes" in value)) return false;
  const { bytes } = value;
  return Number.isInteger(bytes) && Number(bytes) >= 0 && Number(bytes) <= CHUNK_BYTES_MAX;
}

function isStoredLine(value: unknown): value is StoredLine {
  return typeof value === "object" && value !== null && "message" in value;
}

/** Returns true for a line whose end was cut off because it is too long to be kept. */
export function isCutLine(content: Uint8Array): boolean {
  return content.length === LINE_BYTES_MAX + 2 &&
    content.indexOf(LINE_BREAK) === LINE_BYTES_MAX + 1;
}

/** Skips a number of lines of a chunk, or all when it has fewer. Returns the number of skipped lines. */
export function skipLines(content: Uint8Array, count: number): { bytes: number; lines: number } {
  let bytes = 0;
  let lines = 0;
  while (lines < count && bytes < content.length) {
    const at = content.indexOf(LINE_BREAK, bytes);
    bytes = at === -1 ? content.length : at + 1;
    lines++;
  }
  return { bytes, lines };
}

/** Decodes a line as a terminal shows it, and cuts it. Bytes that are not UTF-8 are replaced. */
export function shownText(line: Uint8Array): string {
  const shown = shownPart(line);
  const text = decoder.decode(shown.subarray(0, LINE_BYTES_MAX));
  const isCut = shown.length > LINE_BYTES_MAX;
  return isCut ? `${text} [cut: longer than ${LINE_BYTES_MAX} bytes]` : text;
}

/**
 * Returns the part of a line that a terminal shows: text behind a carriage return, such as the next state of
 * a progress bar, replaces the text before it.
 */
export function shownPart(line: Uint8Array): Uint8Array {
  let end = line.length;
  while (end > 0 && line[end - 1] === CARRIAGE_RETURN) end--;
  return line.subarray(line.subarray(0, end).lastIndexOf(CARRIAGE_RETURN) + 1, end);
}
