/**
 * Reads a file to which a command prints, as chunks of whole lines. It does not decode them.
 *
 * @module
 */
import type { GrowingFile } from "../../platform/files/regular_file.ts";
import { LINE_BYTES_MAX, shownPart } from "../shared/log_format.ts";

const LINE_BREAK = 0x0a;

/** The result of one read. */
interface ReadResult {
  /** Whole lines, valid until the next read; undefined when no line is complete. */
  content: Uint8Array | undefined;
  /** The offset in the file behind the content. */
  end: number;
  /** True when bytes were read. */
  hasRead: boolean;
  /** True when the end of the file is reached for now. */
  isAtEnd: boolean;
}

/** A growing file, read from an offset on. */
export class StreamReader {
  readonly #open: () => GrowingFile | undefined;
  readonly #bytesMax: number;
  #file: GrowingFile | undefined;
  /** The offset behind all that was read. */
  #position: number;
  /** Bytes that were read and not returned: the start of a line, or the rest after a long line. */
  #carry = new Uint8Array(0);
  #carryHasLines = false;
  /** A line that is longer than the buffer. */
  #longLine: LongLine | undefined;

  /**
   * @param open opens the file; returns undefined while there is none
   * @param offset the start of a line
   * @param bytesMax the offset at which the file counts as ended
   */
  constructor(open: () => GrowingFile | undefined, offset: number, bytesMax = Infinity) {
    this.#open = open;
    this.#position = offset;
    this.#bytesMax = bytesMax;
  }

  /**
   * Reads once. Synchronous, because the file is in the system's cache and awaiting takes several times as
   * long.
   *
   * @param buffer the largest chunk
   */
  read(buffer: Uint8Array): ReadResult {
    this.#file ??= this.#openAtPosition();
    const carried = this.#carry.length;
    const room = Math.min(buffer.length - carried, Math.max(0, this.#bytesMax - this.#position));
    const count = room === 0 ? 0 : this.#readInto(buffer.subarray(carried, carried + room));
    this.#position += count;
    const hasRead = count > 0;
    if (!hasRead && !this.#carryHasLines) {
      return { content: undefined, end: this.#position - carried, hasRead, isAtEnd: true };
    }
    buffer.set(this.#carry);
    const content = this.#split(buffer.subarray(0, carried + count), buffer.length);
    const end = this.#position - this.#carry.length;
    return { content, end, hasRead, isAtEnd: count < room && !this.#carryHasLines };
  }

  /** Returns the last line when it has no line break. */
  rest(): Pick<ReadResult, "content" | "end"> {
    // A long line of which nothing is shown is a line, too.
    const content = this.#longLine?.line() ?? this.#carry;
    return { content: content.length > 0 ? content : undefined, end: this.#position };
  }

  /** True when it counts as ended: what comes behind is not read. */
  get isFull(): boolean {
    return this.#position >= this.#bytesMax;
  }

  /** Closes the file. */
  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #readInto(part: Uint8Array): number {
    return this.#file?.readSync(part) ?? 0;
  }

  /** Returns the whole lines in some bytes, and keeps the rest. */
  #split(bytes: Uint8Array, bytesMax: number): Uint8Array | undefined {
    if (this.#longLine !== undefined) return this.#continueLongLine(bytes);
    const last = bytes.lastIndexOf(LINE_BREAK);
    this.#carryHasLines = false;
    if (last === -1 && bytes.length >= bytesMax) {
      this.#longLine = new LongLine();
      return this.#continueLongLine(bytes);
    }
    this.#carry = bytes.slice(last + 1);
    return last === -1 ? undefined : bytes.subarray(0, last + 1);
  }

  #continueLongLine(bytes: Uint8Array): Uint8Array | undefined {
    const at = bytes.indexOf(LINE_BREAK);
    this.#longLine?.add(at === -1 ? bytes : bytes.subarray(0, at));
    this.#carry = at === -1 ? new Uint8Array(0) : bytes.slice(at + 1);
    this.#carryHasLines = this.#carry.includes(LINE_BREAK);
    if (at === -1) return undefined;
    const line = this.#longLine?.line();
    this.#longLine = undefined;
    return line;
  }

  #openAtPosition(): GrowingFile | undefined {
    const file = this.#open();
    file?.seekSync(this.#position, Deno.SeekMode.Start);
    return file;
  }
}

/** A line that is too long to be kept whole. Of it the part that is shown is kept. */
class LongLine {
  /** One byte more than is shown, so that the line counts as cut. */
  readonly #kept = new Uint8Array(LINE_BYTES_MAX + 1);
  #length = 0;
  /** True when the next text replaces the kept text. */
  #isReturned = false;

  add(part: Uint8Array): void {
    const text = shownPart(part);
    const start = text.byteOffset - part.byteOffset;
    // A carriage return before the text replaces what is kept; without text behind it nothing is replaced.
    if (text.length > 0 && (start > 0 || this.#isReturned)) this.#length = 0;
    this.#isReturned = start + text.length < part.length || text.length === 0 && this.#isReturned;
    const fitting = text.subarray(0, Math.max(0, this.#kept.length - this.#length));
    this.#kept.set(fitting, this.#length);
    this.#length += fitting.length;
  }

  /** Returns the part that is shown, with a line break. */
  line(): Uint8Array {
    const line = new Uint8Array(this.#length + 1);
    line.set(this.#kept.subarray(0, this.#length));
    line[this.#length] = LINE_BREAK;
    return line;
  }
}
