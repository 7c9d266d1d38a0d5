/**
 * Writes the log of an execution. See `log_format.ts`.
 *
 * @module
 */
import { writeAll } from "../../platform/files/bytes.ts";
import { joinedBytes } from "../../platform/joined_bytes.ts";
import { encodeChunk, encodeLine, type LogRecord, type StoredLine } from "./log_format.ts";
import { LogError, readRecords } from "./log_reader.ts";

const LINE_BREAK = 0x0a;
/** Room for the events at the end of a full log. */
const RESERVE_BYTES = 4 * 1024;

/** A chunk to be added. */
interface NewChunk {
  time: string;
  stream: "stdout" | "stderr";
  /** The offset in the stream behind the content. */
  end: number;
  /** Whole lines. */
  content: Uint8Array;
}

/** Adds records to a log, one after the other. Errors of writing are noted in the log and not thrown. */
export class LogWriter {
  readonly #file: Deno.FsFile;
  readonly #bytesMax: number;
  #bytes: number;
  #isFull = false;
  /** The time of the first record that could not be written, until the log says so. */
  #lostAt: string | undefined;
  #writing: Promise<void> = Promise.resolve();

  private constructor(file: Deno.FsFile, bytes: number, bytesMax: number) {
    this.#file = file;
    this.#bytes = bytes;
    this.#bytesMax = bytesMax;
  }

  /**
   * Opens a log to continue it. Overwrites an incomplete record at its end.
   *
   * @param bytesMax the size limit of the log
   * @param onRecord gets each record that the log has
   * @throws {LogError} when something other than a file is in its place
   */
  static async open(
    path: string,
    bytesMax: number,
    onRecord: (record: LogRecord) => void | Promise<void> = () => {},
  ): Promise<LogWriter> {
    const file = Deno.openSync(path, { read: true, write: true, create: true, mode: 0o600 });
    try {
      const { isFile, size } = file.statSync();
      // Writing into a pipe would wait for a reader.
      if (!isFile) throw new LogError("something else is in the place of its log");
      if (size === 0) return new LogWriter(file, 0, bytesMax);
      let bytes = 0;
      for await (const record of readRecords(file, 0)) {
        await onRecord(record);
        bytes += record.length;
      }
      file.truncateSync(bytes);
      file.seekSync(bytes, Deno.SeekMode.Start);
      return new LogWriter(file, bytes, bytesMax);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** True when the log has no room for more output. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Adds an event. */
  addLine(line: StoredLine): Promise<void> {
    return this.#inTurn(() => this.#write(line.time, [encodeLine(line)]));
  }

  /** Adds a chunk. If it has no room, adds as many of its lines as fit, and says once that the log is full. */
  addChunk({ time, stream, end, content }: NewChunk): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#isFull) return;
      const record = encodeChunk({ time, stream, end }, content);
      const room = this.#bytesMax - RESERVE_BYTES - this.#bytes;
      if (record.length <= room) return await this.#write(time, [record]);
      const contentRoom = Math.max(0, room - (record.length - content.length));
      const fitting = content.lastIndexOf(LINE_BREAK, contentRoom - 1) + 1;
      const note = "The log is full: what is printed from here on is left out";
      const records = [encodeLine({ time, stream: "event", message: note })];
      if (contentRoom > 0 && fitting > 0) {
        const part = content.subarray(0, fitting);
        records.unshift(encodeChunk({ time, stream, end: end - content.length + fitting }, part));
      }
      await this.#write(time, records);
      this.#isFull = true;
    });
  }

  /** Writes the log to disk. */
  async sync(): Promise<void> {
    await this.#writing;
    await this.#file.sync();
  }

  /** Closes the file. If records are lost, notes that first. */
  async close(): Promise<void> {
    if (this.#lostAt !== undefined) await this.#inTurn(() => this.#write("", []));
    await this.#writing;
    this.#file.close();
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    return this.#writing = this.#writing.then(work);
  }

  async #write(time: string, records: Uint8Array[]): Promise<void> {
    if (this.#lostAt !== undefined) {
      const message = "The disk was full: what was printed from here on is left out";
      records.unshift(encodeLine({ time: this.#lostAt, stream: "event", message }));
    }
    const bytes = joinedBytes(records);
    try {
      await writeAll(this.#file, bytes);
      this.#bytes += bytes.length;
      this.#lostAt = undefined;
    } catch {
      // The disk is full. An incomplete log must not end the execution.
      this.#isFull = true;
      this.#lostAt ??= time;
      await this.#file.truncate(this.#bytes).catch(() => {});
      this.#file.seekSync(this.#bytes, Deno.SeekMode.Start);
    }
  }
}

/** Adds an event to a log that is not open elsewhere. */
export async function appendToLog(
  path: string,
  bytesMax: number,
  line: StoredLine,
): Promise<void> {
  const log = await LogWriter.open(path, bytesMax);
  try {
    await log.addLine(line);
  } finally {
    await log.close();
  }
}
