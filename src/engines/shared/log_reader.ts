/**
 * Reads the log of an execution, a page at a time. See `log_format.ts`.
 *
 * A position in a log is a text that callers do not interpret: the offset of a record, or `<offset>.<count>`
 * for so many lines behind that.
 *
 * @module
 */
import { HooklaunchError } from "../../platform/errors.ts";
import { openRegularFile } from "../../platform/files/regular_file.ts";
import type { LogOptions, LogPage, PositionedLine } from "../engine.ts";
import {
  type LogRecord,
  parseRecord,
  RECORD_BYTES_MAX,
  shownText,
  skipLines,
} from "./log_format.ts";

const LINES_DEFAULT = 1_000;
/** The most characters that a page has, except for its last line. */
const PAGE_LENGTH_MAX = 1024 * 1024;
const BUFFER_BYTES = 64 * 1024;
const LINE_BREAK = 0x0a;
const START = "0";

/** The log of an execution cannot be used. */
export class LogError extends HooklaunchError {
  override readonly code = "log_failed";
}

/**
 * Reads a page of a log. It is empty when there is no log, or when the command has replaced it or made it
 * unreadable.
 */
export async function readLog(
  path: string,
  { after = START, limit = LINES_DEFAULT }: LogOptions = {},
): Promise<LogPage> {
  using file = await openRegularFile(path).catch((error) => {
    if (error instanceof Deno.errors.PermissionDenied) return undefined;
    throw error;
  });
  if (file === undefined) return { lines: [], next: after };
  return await pageOfRecords((offset) => readRecords(file, offset), { after, limit });
}

/**
 * Reads a page of a log that lies anywhere.
 *
 * @param recordsFrom yields the records from an offset on, which is the start of one
 */
export async function pageOfRecords(
  recordsFrom: (offset: number) => AsyncIterable<LogRecord>,
  { after = START, limit = LINES_DEFAULT }: LogOptions = {},
): Promise<LogPage> {
  const lines: PositionedLine[] = [];
  let next = after;
  let [offset = 0, skip = 0] = after.split(".").map(Number);
  let length = 0;
  for await (const record of recordsFrom(offset)) {
    for (const line of linesOfRecord(record, { offset, skip })) {
      lines.push(line);
      next = line.next;
      length += line.message.length;
      if (lines.length >= limit || length >= PAGE_LENGTH_MAX) return { lines, next };
    }
    skip -= skippedLines(record, skip);
    offset += record.length;
    if (skip === 0) next = String(offset);
  }
  return { lines, next };
}

/** Yields the records of a log from an offset on. The content of a chunk is valid until the next record. */
export async function* readRecords(file: Deno.FsFile, offset: number): AsyncGenerator<LogRecord> {
  await file.seek(offset, Deno.SeekMode.Start);
  yield* recordsIn((buffer) => file.read(buffer));
}

/**
 * Yields the records in some bytes. The content of a chunk is valid until the next record.
 *
 * @param read reads into a buffer; null at the end
 */
export async function* recordsIn(
  read: (buffer: Uint8Array) => Promise<number | null>,
): AsyncGenerator<LogRecord> {
  let buffer = new Uint8Array(BUFFER_BYTES);
  let start = 0;
  let end = 0;
  for (;;) {
    const record = parseRecord(buffer.subarray(start, end));
    if (record !== undefined) {
      start += record.length;
      yield record;
      continue;
    }
    if (end - start >= RECORD_BYTES_MAX) return;
    const target = end - start > buffer.length / 2 ? new Uint8Array(buffer.length * 2) : buffer;
    target.set(buffer.subarray(start, end));
    buffer = target;
    end -= start;
    start = 0;
    const count = await read(buffer.subarray(end));
    if (count === null) return;
    end += count;
  }
}

/** Yields the lines of a record, except for the first ones that are to be skipped. */
function* linesOfRecord(
  record: LogRecord,
  { offset, skip }: { offset: number; skip: number },
): Generator<PositionedLine> {
  const end = String(offset + record.length);
  if ("line" in record && skip === 0) {
    const { time, stream, message } = record.line;
    yield { time, stream, message, next: end };
  }
  if (!("head" in record)) return;
  const { head: { time, stream }, content } = record;
  let { bytes, lines } = skipLines(content, skip);
  while (bytes < content.length) {
    const found = content.indexOf(LINE_BREAK, bytes);
    const lineEnd = found === -1 ? content.length : found;
    const message = shownText(content.subarray(bytes, lineEnd));
    bytes = lineEnd + 1;
    lines++;
    yield { time, stream, message, next: bytes < content.length ? `${offset}.${lines}` : end };
  }
}

/** Returns how many of the requested lines a record has. */
function skippedLines(record: LogRecord, skip: number): number {
  if (skip === 0 || "isUnknown" in record) return 0;
  return "line" in record ? 1 : skipLines(record.content, skip).lines;
}
