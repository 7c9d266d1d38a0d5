/**
 * Copies what a command prints from the wrapper's files into the log, and looks for metadata in it.
 *
 * The work of one call is bounded, and pauses now and then: a command that prints as fast as it can must not
 * stall the service.
 *
 * @module
 */
import { statSync } from "node:fs";
import type { Clock } from "../../platform/clock.ts";
import { CHUNK_BYTES_MAX, isCutLine, type LogRecord } from "../shared/log_format.ts";
import { LogWriter } from "../shared/log_writer.ts";
import { Metadata } from "../shared/metadata.ts";
import { type OnEvents, takeMetadata } from "../shared/metadata_search.ts";
import type { SecretMasker } from "../shared/secret_masker.ts";
import { openWritten } from "./control_files.ts";
import { StreamReader } from "./stream_reader.ts";
import type { WorkFolder } from "./work_folder.ts";
import { keptBytesMax, RESERVED_BYTES } from "./wrapper.ts";

const STREAMS = ["stdout", "stderr"] as const;
/** The most bytes of a stream that one call of `pump` takes in, and the time after which it takes no more. */
const PUMP_BYTES_MAX = 1024 * 1024;
const PUMP_MS = 100;
/** The time for the rest of the metadata of an execution that was stopped. */
const STOPPED_MS = 300;

type Stream = (typeof STREAMS)[number];

/** The state that the log of an earlier service tells. */
interface Earlier {
  metadata: Metadata;
  /** The offsets up to which the log has each stream. */
  ends: Record<Stream, number>;
}

/** The options of a capture. */
interface CaptureOptions {
  clock: Clock;
  /** The size limit of the log. */
  logBytesMax: number;
  /** The metadata that the execution has at its start. */
  metadata?: Readonly<Record<string, unknown>> | undefined;
  /** Masks the secrets of the execution in all that is kept. */
  masker?: SecretMasker | undefined;
  /** Called when the log has grown. */
  onLog(): void;
}

/** Follows the output of one execution. */
export class Capture implements AsyncDisposable {
  readonly metadata: Metadata;
  readonly #folder: WorkFolder;
  readonly #clock: Clock;
  readonly #onLog: () => void;
  readonly #masker: SecretMasker | undefined;
  readonly #buffer = new Uint8Array(CHUNK_BYTES_MAX);
  readonly #readers: Record<Stream, StreamReader>;
  readonly #log: LogWriter;
  /** The streams whose end is missing, as the log says. */
  readonly #cut = new Set<Stream>();
  /** The streams whose mark is empty: it is being reserved, or the disk has no room for it. */
  readonly #unmarked = new Set<Stream>();
  /** The reasons for missing metadata that the log has. */
  readonly #loggedReasons = new Set<string>();
  #metadataUntil_ms = Infinity;

  private constructor(
    folder: WorkFolder,
    { clock, logBytesMax, onLog, masker, log }: CaptureOptions & { log: LogWriter },
    { metadata, ends }: Earlier,
  ) {
    this.#folder = folder;
    this.#clock = clock;
    this.#onLog = onLog;
    this.#masker = masker;
    this.#log = log;
    this.metadata = metadata;
    // A command can lengthen the files beyond what the wrapper writes, by holes even beyond the disk.
    const bytesMax = keptBytesMax(logBytesMax);
    const readerOf = (stream: Stream) =>
      new StreamReader(() => openWritten(folder, stream), ends[stream], bytesMax);
    this.#readers = { stdout: readerOf("stdout"), stderr: readerOf("stderr") };
  }

  /** Begins, or continues where the log of an earlier service ends. */
  static async open(folder: WorkFolder, options: CaptureOptions): Promise<Capture> {
    let earlier = nothing(options);
    // The log comes first, so events that a crash prevented are written now, together with all others.
    let append = false;
    const onEvents = async (events: string) => {
      await writeEvents(folder, events, { append });
      append = true;
    };
    const log = await LogWriter.open(folder.record("log"), options.logBytesMax, async (record) => {
      if (!("line" in record && record.line.isRestart)) {
        return await takeRecord(record, earlier, onEvents);
      }
      earlier = nothing(options);
      append = false;
      await onEvents("");
    });
    const capture = new Capture(folder, { ...options, log }, earlier);
    await capture.#logLeftOut();
    return capture;
  }

  /** True when some output is missing, so that nothing is known of the time of the last output. */
  get isCut(): boolean {
    // Some programs tell of a limit at their end alone.
    return this.#cut.size > 0 || this.#unmarked.size > 0 ||
      STREAMS.some((stream) => this.#readers[stream].isFull);
  }

  /**
   * Takes in what was printed since the last call, up to a limit.
   *
   * @returns true when there was something
   */
  async pump(): Promise<boolean> {
    const end_ms = performance.now() + PUMP_MS;
    let found = false;
    for (const stream of STREAMS) {
      for (let bytes = 0; bytes < PUMP_BYTES_MAX; bytes += this.#buffer.length) {
        const { content, end, hasRead, isAtEnd } = this.#readers[stream].read(this.#buffer);
        found ||= hasRead;
        if (content !== undefined) await this.#take(stream, content, end);
        if (isAtEnd || performance.now() > end_ms) break;
      }
      await this.#logIfCut(stream);
    }
    return found;
  }

  /**
   * Takes in the rest, when nothing more is printed.
   *
   * @param isStopped true when the execution is asked to stop: its end does not wait for much metadata
   */
  async finish({ isStopped }: { isStopped: boolean }): Promise<void> {
    if (isStopped) this.#metadataUntil_ms = performance.now() + STOPPED_MS;
    while (await this.pump());
    for (const stream of STREAMS) {
      const { content, end } = this.#readers[stream].rest();
      if (content !== undefined) await this.#take(stream, content, end);
      // Nobody reserves it any more: there was no room for what was printed either.
      if (this.#unmarked.has(stream)) await this.#logCut(stream);
    }
  }

  /** Adds an event to the log. */
  async logEvent(message: string): Promise<void> {
    await this.#log.addLine({ time: this.#now(), stream: "event", message });
    this.#onLog();
  }

  /** Closes the files. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const reader of Object.values(this.#readers)) reader.close();
    await this.#log.close();
  }

  async #take(stream: Stream, printed: Uint8Array, end: number): Promise<void> {
    const time = this.#now();
    const content = this.#masker?.mask(printed, { isCut: isCutLine(printed) }) ?? printed;
    await this.#log.addChunk({ time, stream, end, content });
    this.#onLog();
    if (stream !== "stdout") return;
    const onEvents = (events: string) => writeEvents(this.#folder, events, { append: true });
    const until_ms = this.#metadataUntil_ms;
    await takeMetadata(this.metadata, { content, time, until_ms }, onEvents);
    await this.#logLeftOut();
  }

  async #logLeftOut(): Promise<void> {
    for (const reason of this.metadata.leftOut) {
      if (this.#loggedReasons.has(reason)) continue;
      this.#loggedReasons.add(reason);
      await this.logEvent(reason);
    }
  }

  async #logIfCut(stream: Stream): Promise<void> {
    if (this.#cut.has(stream)) return;
    const size = statSync(this.#folder.control(`${stream}.cut`), { throwIfNoEntry: false })?.size;
    // A shell creates the file first, and writes into it then.
    if (size === 0) this.#unmarked.add(stream);
    else this.#unmarked.delete(stream);
    if (size !== undefined && size > RESERVED_BYTES) await this.#logCut(stream);
  }

  async #logCut(stream: Stream): Promise<void> {
    this.#cut.add(stream);
    await this.logEvent(`Too much was printed to ${stream}: what comes from here on is left out`);
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}

async function writeEvents(
  folder: WorkFolder,
  events: string,
  { append }: { append: boolean },
): Promise<void> {
  // A full disk must not end the execution.
  await Deno.writeTextFile(folder.record("metadata.jsonl"), events, { append, mode: 0o600 })
    .catch(() => {});
}

function nothing({ metadata }: Pick<CaptureOptions, "metadata">): Earlier {
  return { metadata: new Metadata(metadata), ends: { stdout: 0, stderr: 0 } };
}

/** Takes in a record of the log of an earlier service. */
async function takeRecord(
  record: LogRecord,
  { metadata, ends }: Earlier,
  onEvents: OnEvents,
): Promise<void> {
  if ("head" in record) {
    const { stream, end, time } = record.head;
    ends[stream] = end;
    if (stream === "stdout") await takeMetadata(metadata, { ...record, time }, onEvents);
  } else if ("line" in record && record.line.stream !== "event") {
    const { stream, end, time, message } = record.line;
    ends[stream] = end ?? ends[stream];
    const event = stream === "stdout" ? metadata.take(message, time) : undefined;
    if (event !== undefined) await onEvents(event);
  }
}
