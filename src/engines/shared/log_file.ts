/**
 * The log of an execution: a file of JSON lines. Offsets into it stay what they are, whatever happens
 * to the service.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { openRegularFile } from "../../platform/files/regular_file.ts";
import { writeAllSync } from "../../platform/files/write_all.ts";
import type { LogLine, LogOptions, LogPage } from "../engine.ts";

const LINES_DEFAULT = 1_000;
const PAGE_BYTES_MAX = 1024 * 1024;
const LINE_BREAK = 0x0a;
/** Room for the lines that say that others are missing. */
const RESERVE_BYTES = 4 * 1024;

/** A line as it is stored. */
export interface StoredLine extends LogLine {
  /** How far this line's stream had been read with it, in bytes. */
  end?: number;
  /** Whether the command was started again here, so that the streams begin anew. */
  isRestart?: true;
}

/** Writes a log. */
export class LogWriter {
  readonly #file: Deno.FsFile;
  readonly #bytesMax: number;
  #bytes: number;
  #isFull = false;
  /** When lines could not be written, while the log does not say so yet. */
  #lostAt: string | undefined;

  private constructor(file: Deno.FsFile, bytes: number, bytesMax: number) {
    this.#file = file;
    this.#bytes = bytes;
    this.#bytesMax = bytesMax;
  }

  /**
   * Opens a log to go on with it, where a line that was written in part is written over.
   *
   * @param onLine is given each line that it holds
   */
  static async open(
    path: string,
    bytesMax: number,
    onLine: (line: StoredLine) => void,
  ): Promise<LogWriter> {
    const file = Deno.openSync(path, { read: true, write: true, create: true, mode: 0o600 });
    try {
      const { isFile, size } = file.statSync();
      // To write into a pipe would wait for who reads it, and everything else with it.
      if (!isFile) throw new Error("something else is in the place of its log");
      if (size === 0) return new LogWriter(file, 0, bytesMax);
      const bytes = await readLines(file, 0, Infinity, (line) => {
        onLine(line);
        return true;
      });
      file.truncateSync(bytes);
      file.seekSync(bytes, Deno.SeekMode.Start);
      return new LogWriter(file, bytes, bytesMax);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Adds lines. When the log is full they are left out, and the log says so once. */
  append(lines: readonly StoredLine[]): void {
    let text = "";
    let bytes = this.#bytes;
    if (this.#lostAt !== undefined) {
      text = noteOf(this.#lostAt, "The disk was full: what was printed from here on is left out");
      bytes += Buffer.byteLength(text);
    }
    for (const line of lines) {
      if (this.#isFull && line.stream !== "event") continue;
      const json = `${JSON.stringify(line)}\n`;
      const room = this.#bytesMax - (line.stream === "event" ? 0 : RESERVE_BYTES);
      const size = Buffer.byteLength(json);
      if (bytes + size <= room) {
        text += json;
        bytes += size;
      } else if (!this.#isFull) {
        this.#isFull = true;
        const note = noteOf(line.time, "The log is full: what is printed from here on is left out");
        text += note;
        bytes += Buffer.byteLength(note);
      }
    }
    if (text === "") return;
    try {
      writeAllSync(this.#file, new TextEncoder().encode(text));
      this.#bytes = bytes;
      this.#lostAt = undefined;
    } catch {
      // The disk is full. What is missing from the log must not end the execution.
      this.#isFull = true;
      this.#lostAt ??= lines[0]?.time;
      this.#file.truncateSync(this.#bytes);
      this.#file.seekSync(this.#bytes, Deno.SeekMode.Start);
    }
  }

  /** Closes the file, which says at last what is missing in it. */
  close(): void {
    if (this.#lostAt !== undefined) this.append([]);
    this.#file.close();
  }
}

function noteOf(time: string, message: string): string {
  return `${JSON.stringify({ time, stream: "event", message })}\n`;
}

/** Adds a line to a log that nobody else writes at the time. */
export async function appendToLog(
  path: string,
  bytesMax: number,
  line: StoredLine,
): Promise<void> {
  const log = await LogWriter.open(path, bytesMax, () => {});
  try {
    log.append([line]);
  } finally {
    log.close();
  }
}

/**
 * Reads a part of a log; empty when there is none, or when the command has put something else in its
 * place or taken the right to read it.
 */
export async function readLog(path: string, options: LogOptions = {}): Promise<LogPage> {
  const { after = 0, limit = LINES_DEFAULT } = options;
  const lines: LogLine[] = [];
  using file = await openRegularFile(path).catch((error) => {
    if (error instanceof Deno.errors.PermissionDenied) return undefined;
    throw error;
  });
  if (file === undefined) return { lines, next: after };
  const next = await readLines(file, after, PAGE_BYTES_MAX, ({ time, stream, message }) => {
    lines.push({ time, stream, message });
    return lines.length < limit;
  });
  return { lines, next };
}

/**
 * Reads whole lines from an offset on, until `onLine` answers false or `bytesMax` are read.
 *
 * @returns the offset behind the last line
 */
async function readLines(
  file: Deno.FsFile,
  offset: number,
  bytesMax: number,
  onLine: (line: StoredLine) => boolean,
): Promise<number> {
  const decoder = new TextDecoder();
  await file.seek(offset, Deno.SeekMode.Start);
  let kept = new Uint8Array(0);
  const buffer = new Uint8Array(64 * 1024);
  for (let read = 0; read < bytesMax;) {
    const count = await file.read(buffer);
    if (count === null) break;
    read += count;
    const bytes = joined(kept, buffer.subarray(0, count));
    let start = 0;
    for (let at = bytes.indexOf(LINE_BREAK); at !== -1; at = bytes.indexOf(LINE_BREAK, start)) {
      const line = parseLine(decoder.decode(bytes.subarray(start, at)));
      offset += at + 1 - start;
      start = at + 1;
      if (line !== undefined && !onLine(line)) return offset;
    }
    kept = bytes.slice(start);
  }
  return offset;
}

/** A line; undefined when reading began within one. */
function parseLine(text: string): StoredLine | undefined {
  try {
    // Only this file writes what is read here.
    return JSON.parse(text) as StoredLine;
  } catch {
    return undefined;
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}
