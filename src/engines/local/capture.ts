/**
 * What a command prints: taken from the files that the wrapper writes into the log and the metadata.
 *
 * @module
 */
import { existsSync } from "node:fs";
import type { Clock } from "../../platform/clock.ts";
import { pause } from "../../platform/waiting/pause.ts";
import { openWritten } from "./control_files.ts";
import { LINE_BYTES_MAX, LineReader } from "./line_reader.ts";
import { LogWriter, type StoredLine } from "../shared/log_file.ts";
import { isObjectText, Metadata } from "../shared/metadata.ts";
import type { WorkFolder } from "./work_folder.ts";
import { keptBytesMax } from "./wrapper.ts";

const BUFFER_BYTES = 64 * 1024;
const STREAMS = ["stdout", "stderr"] as const;

type Stream = (typeof STREAMS)[number];

/** Follows the output of one execution. */
export class Capture implements Disposable {
  readonly metadata = new Metadata();
  readonly #folder: WorkFolder;
  readonly #clock: Clock;
  readonly #buffer = new Uint8Array(BUFFER_BYTES);
  readonly #readers: Record<Stream, LineReader>;
  readonly #log: LogWriter;
  /** Streams of which the log says that they are cut. */
  readonly #cut = new Set<Stream>();
  /** Why metadata was left out, as the log says it. */
  readonly #toldOfMetadata = new Set<string>();

  private constructor(
    folder: WorkFolder,
    clock: Clock,
    log: LogWriter,
    readers: Record<Stream, LineReader>,
  ) {
    this.#folder = folder;
    this.#clock = clock;
    this.#log = log;
    this.#readers = readers;
  }

  /** Begins, or goes on where the log ends that an earlier service has written. */
  static async open(folder: WorkFolder, clock: Clock, logBytesMax: number): Promise<Capture> {
    const ends: Record<Stream, number> = { stdout: 0, stderr: 0 };
    const printed: StoredLine[] = [];
    const log = await LogWriter.open(folder.record("log"), logBytesMax, (line) => {
      if (line.isRestart) {
        ends.stdout = ends.stderr = 0;
        printed.length = 0;
      }
      if (line.stream === "event") return;
      ends[line.stream] = line.end ?? ends[line.stream];
      if (line.stream === "stdout" && isObjectText(line.message)) printed.push(line);
    });
    // The command can make the files longer than any wrapper does, by holes than any disk is.
    const bytesMax = keptBytesMax(logBytesMax);
    const readerOf = (stream: Stream) =>
      new LineReader(() => Promise.resolve(openWritten(folder, stream)), ends[stream], bytesMax);
    const readers = { stdout: readerOf("stdout"), stderr: readerOf("stderr") };
    const capture = new Capture(folder, clock, log, readers);
    if (printed.length > 0) await capture.#storeEvents(printed, { truncate: true });
    return capture;
  }

  /** Whether some output is beyond the limit, so that nothing is known of what comes after it. */
  get isCut(): boolean {
    return this.#cut.size > 0;
  }

  /**
   * Takes in what was printed since the last time.
   *
   * @returns whether there was something
   */
  async pump(): Promise<boolean> {
    let found = false;
    for (const stream of STREAMS) {
      for (;;) {
        const { lines, bytes } = await this.#readers[stream].read(this.#buffer);
        if (bytes === 0) break;
        found = true;
        await this.#store(lines.map((line) => this.#stored(stream, line)));
        if (bytes < this.#buffer.length) break;
        // Whatever else the service has to do goes first, where there is much to take in.
        await pause(0);
      }
      this.#tellIfCut(stream);
    }
    return found;
  }

  /** Takes in the rest, when nothing more will be printed. */
  async finish(): Promise<void> {
    await this.pump();
    for (const stream of STREAMS) {
      const line = this.#readers[stream].rest();
      if (line) await this.#store([this.#stored(stream, line)]);
    }
  }

  /** Adds a line of Hooklaunch's own. */
  logEvent(message: string): void {
    this.#log.append([{ time: this.#now(), stream: "event", message }]);
  }

  /** Closes the files. */
  [Symbol.dispose](): void {
    this.#log.close();
    for (const reader of Object.values(this.#readers)) reader.close();
  }

  #stored(stream: Stream, line: { text: string; isWhole: boolean; end: number }): StoredLine {
    const message = line.isWhole
      ? line.text
      : `${line.text} [cut: longer than ${LINE_BYTES_MAX} bytes]`;
    return { time: this.#now(), stream, message, end: line.end };
  }

  async #store(lines: readonly StoredLine[]): Promise<void> {
    this.#log.append(lines);
    await this.#storeEvents(lines, { truncate: false });
  }

  /** The log comes first: from it the events can be told again, after a crash between the two. */
  async #storeEvents(
    lines: readonly StoredLine[],
    { truncate }: { truncate: boolean },
  ): Promise<void> {
    let events = "";
    for (const { stream, message, time } of lines) {
      if (stream === "stdout") events += this.metadata.take(message, time) ?? "";
    }
    if (events !== "" || truncate) {
      const options = { append: !truncate, mode: 0o600 };
      // A full disk must not end the execution.
      await Deno.writeTextFile(this.#folder.record("metadata.jsonl"), events, options)
        .catch(() => {});
    }
    for (const reason of this.metadata.leftOut) {
      if (this.#toldOfMetadata.has(reason)) continue;
      this.#toldOfMetadata.add(reason);
      this.logEvent(reason);
    }
  }

  #tellIfCut(stream: Stream): void {
    if (this.#cut.has(stream)) return;
    if (!existsSync(this.#folder.control(`${stream}.cut`))) return;
    this.#cut.add(stream);
    this.logEvent(`Too much was printed to ${stream}: what comes from here on is left out`);
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}
