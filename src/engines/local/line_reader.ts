/**
 * Reads a file that grows, line by line.
 *
 * @module
 */
import type { GrowingFile } from "../../platform/files/regular_file.ts";

/** The longest line that is kept whole, in bytes. */
export const LINE_BYTES_MAX = 16 * 1024;
const LINE_BREAK = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** One line. */
export interface Line {
  /**
   * Without its line break; what is not UTF-8 is replaced. As a terminal shows it: what follows a carriage
   * return, such as the next state of a progress bar, takes the place of what came before.
   */
  text: string;
  /** Whether `text` is all of it. */
  isWhole: boolean;
  /** The offset in the file behind it. */
  end: number;
}

/** A file, read from an offset on. */
export class LineReader {
  readonly #open: () => Promise<GrowingFile | undefined>;
  readonly #bytesMax: number;
  #file: GrowingFile | undefined;
  /** Behind the last line that was given out. */
  #end: number;
  /** The beginning of the line that is not at its end yet. */
  readonly #begun = new Uint8Array(LINE_BYTES_MAX);
  /** How much of the file that line takes so far. */
  #length = 0;
  /** How long its text is so far, which may be more than what is kept of it. */
  #textBytes = 0;
  /** Whether what comes next takes the place of that text. */
  #isReturned = false;

  /**
   * @param open opens the file; answers undefined while there is none
   * @param offset where a line begins
   * @param bytesMax where the file counts as ended, however long it is
   */
  constructor(
    open: () => Promise<GrowingFile | undefined>,
    offset: number,
    bytesMax = Infinity,
  ) {
    this.#open = open;
    this.#bytesMax = bytesMax;
    this.#end = offset;
  }

  /**
   * Reads what is there now, as much as fits the buffer. Without awaiting the reading itself, because that
   * takes several times as long.
   *
   * @returns the lines that came to their ends, and how many bytes were read: less than the buffer holds
   * at the file's end
   */
  async read(buffer: Uint8Array): Promise<{ lines: Line[]; bytes: number }> {
    this.#file ??= await this.#openAtEnd();
    const left = Math.max(0, this.#bytesMax - this.#end - this.#length);
    const bytes = this.#file?.readSync(buffer.subarray(0, left)) ?? 0;
    const lines: Line[] = [];
    let start = 0;
    while (start < bytes) {
      const at = buffer.indexOf(LINE_BREAK, start);
      const isAtEnd = at !== -1 && at < bytes;
      this.#keep(buffer.subarray(start, isAtEnd ? at : bytes));
      if (!isAtEnd) break;
      lines.push(this.#give(1));
      start = at + 1;
    }
    return { lines, bytes };
  }

  /** The last line, when it has no line break. */
  rest(): Line | undefined {
    return this.#length > 0 ? this.#give(0) : undefined;
  }

  /** Closes the file. */
  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #keep(part: Uint8Array): void {
    this.#length += part.length;
    for (let start = 0; start < part.length;) {
      const at = part.indexOf(CARRIAGE_RETURN, start);
      const end = at === -1 ? part.length : at;
      if (end > start) this.#write(part.subarray(start, end));
      if (at !== -1) this.#isReturned = true;
      start = end + 1;
    }
  }

  #write(text: Uint8Array): void {
    if (this.#isReturned) this.#textBytes = 0;
    this.#isReturned = false;
    const room = Math.max(0, LINE_BYTES_MAX - this.#textBytes);
    this.#begun.set(text.subarray(0, room), LINE_BYTES_MAX - room);
    this.#textBytes += text.length;
  }

  #give(breakBytes: number): Line {
    const isWhole = this.#textBytes <= LINE_BYTES_MAX;
    const text = decoder.decode(this.#begun.subarray(0, this.#textBytes));
    this.#end += this.#length + breakBytes;
    this.#length = this.#textBytes = 0;
    this.#isReturned = false;
    return { text, isWhole, end: this.#end };
  }

  async #openAtEnd(): Promise<GrowingFile | undefined> {
    const file = await this.#open();
    file?.seekSync(this.#end, Deno.SeekMode.Start);
    return file;
  }
}
