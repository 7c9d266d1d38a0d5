/**
 * Following a log: `GET /api/v0/executions/<id>/log/?follow` answers server-sent events (WHATWG HTML,
 * "Server-sent events"). Nothing is read before the client has taken what was sent to it.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../platform/clock.ts";
import type { Engine, LogPage } from "../../engines/engine.ts";
import { messageOf, UnavailableError } from "../../platform/errors.ts";
import { pause } from "../../platform/waiting/pause.ts";
import { type Execution, getExecution, hasEnded } from "../../store/records/executions.ts";
import type { Store } from "../../store/store.ts";

const RETRY_AFTER_S = 10;

const logger = getLogger(["hooklaunch", "http"]);

/** The `id` of the last event. A client that comes again with it has everything. */
export const END_ID = "end";

/** The headers of a stream. */
export const STREAM_HEADERS = {
  "content-type": "text/event-stream",
  // Compression, here or on the way, would hold lines back.
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

/** What log streams work with. */
export interface LogStreamsOptions {
  store: Store;
  clock: Clock;
  /** Ends all streams. */
  closing: AbortSignal;
  /** How many there can be at once. Default 100. */
  followersMax?: number;
  /** How often a log that may grow is looked at. Default 200 ms. */
  poll_ms?: number;
  /** After how long without a line something is sent all the same. Default 15 s. */
  heartbeat_ms?: number;
  /** How many lines are read at once. Default 200. */
  linesMax?: number;
}

type Settings = Required<LogStreamsOptions>;

/** What is followed, and from where on. */
export interface Followed {
  executionId: string;
  engine: Engine;
  /** See {@linkcode offsetOf}. */
  cursor: string;
  /** Whether who follows it still may. */
  isAllowed(): Promise<boolean>;
}

/** All logs that are being followed. */
export class LogStreams {
  readonly #settings: Settings;
  #count = 0;

  constructor(options: LogStreamsOptions) {
    this.#settings = {
      followersMax: 100,
      poll_ms: 200,
      heartbeat_ms: 15_000,
      linesMax: 200,
      ...options,
    };
  }

  /**
   * Follows a log until its execution has ended and all of it was sent.
   *
   * @returns the body of the answer
   * @throws {UnavailableError} when there are too many already, or the service is closing
   */
  follow(followed: Followed): ReadableStream<Uint8Array<ArrayBuffer>> {
    const { followersMax, closing } = this.#settings;
    if (this.#count >= followersMax || closing.aborted) {
      throw new UnavailableError("Cannot follow one more log", RETRY_AFTER_S);
    }
    this.#count++;
    const source = new LogSource(followed, this.#settings, () => this.#count--);
    // Without a high-water mark of 0 a page would be read ahead.
    return new ReadableStream(source, { highWaterMark: 0 });
  }
}

/**
 * The offset that a cursor stands for. A cursor is an offset that the engine gave, or such an offset and
 * a number of lines behind it: the engine gives one with each page and not with each line.
 */
export async function offsetOf(
  engine: Engine,
  executionId: string,
  cursor: string,
): Promise<number> {
  const [after = 0, lines = 0] = cursor.split(".").map(Number);
  if (lines === 0) return after;
  return (await engine.log(executionId, { after, limit: lines })).next;
}

class LogSource implements UnderlyingDefaultSource<Uint8Array<ArrayBuffer>> {
  readonly #followed: Followed;
  readonly #settings: Settings;
  readonly #release: () => void;
  readonly #over = new AbortController();
  #close = () => {};
  #offset: number | undefined;
  #sent_ms: number;

  constructor(followed: Followed, settings: Settings, release: () => void) {
    this.#followed = followed;
    this.#settings = settings;
    this.#release = release;
    this.#sent_ms = settings.clock.steady();
  }

  start(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): void {
    this.#close = () => {
      this.#end();
      controller.close();
    };
    // The client comes again by itself and goes on where it was cut off.
    this.#settings.closing.addEventListener("abort", this.#close, { once: true });
    // The first bytes, so that the client knows that it is followed.
    controller.enqueue(new TextEncoder().encode("retry: 1000\n\n"));
  }

  async pull(
    controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>,
  ): Promise<void> {
    try {
      const { text, isLast } = await this.#next();
      const isAllowed = this.#over.signal.aborted || await this.#followed.isAllowed();
      if (this.#over.signal.aborted) return;
      // Without an end: who comes again is told why.
      if (!isAllowed) return this.#close();
      controller.enqueue(new TextEncoder().encode(text));
      this.#sent_ms = this.#settings.clock.steady();
      if (isLast) this.#close();
    } catch (error) {
      // What is read while the service closes fails.
      if (this.#over.signal.aborted) return;
      this.#end();
      logger.error("Cannot follow the log of execution {execution_id}: {error}", {
        execution_id: this.#followed.executionId,
        error: messageOf(error),
      });
      throw error;
    }
  }

  cancel(): void {
    this.#end();
  }

  /** Waits for something to be sent. */
  async #next(): Promise<{ text: string; isLast: boolean }> {
    const { store, clock, poll_ms, heartbeat_ms, linesMax: limit } = this.#settings;
    const { engine, executionId, cursor } = this.#followed;
    this.#offset ??= await offsetOf(engine, executionId, cursor);
    while (!this.#over.signal.aborted) {
      // Before the log: what is read of it after its execution has ended is all there is.
      const execution = await getExecution(store, executionId);
      const after = this.#offset;
      const page = await engine.log(executionId, { after, limit });
      this.#offset = page.next;
      if (page.lines.length > 0) return { text: eventsOf(page, after), isLast: false };
      if (page.next !== after) continue;
      if (execution === undefined) return { text: "", isLast: true };
      if (hasEnded(execution.status)) return { text: endOf(execution), isLast: true };
      if (clock.steady() - this.#sent_ms >= heartbeat_ms) {
        return { text: ": nothing new\n\n", isLast: false };
      }
      await pause(poll_ms, this.#over.signal);
    }
    return { text: "", isLast: true };
  }

  #end(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    this.#settings.closing.removeEventListener("abort", this.#close);
    this.#release();
  }
}

function eventsOf({ lines, next }: LogPage, after: number): string {
  return lines.map(({ time, stream, message }, index) => {
    const id = index === lines.length - 1 ? next : `${after}.${index + 1}`;
    // JSON has no line breaks, which would end the event.
    return `id: ${id}\ndata: ${JSON.stringify({ time, stream, message })}\n\n`;
  }).join("");
}

function endOf({ status, exit_code, reason, duration }: Execution): string {
  const data = JSON.stringify({ status, exit_code, reason, duration });
  return `event: end\nid: ${END_ID}\ndata: ${data}\n\n`;
}
