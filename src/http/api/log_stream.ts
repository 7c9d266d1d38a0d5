/**
 * Follows a log: `GET /api/v0/executions/<id>/log/?follow` answers server-sent events (WHATWG HTML,
 * "Server-sent events"). Reads no more than the client takes.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { delay } from "@std/async/delay";
import type { Clock } from "../../platform/clock.ts";
import type { Engine, LogPage } from "../../engines/engine.ts";
import { messageOf, UnavailableError } from "../../platform/errors.ts";
import { type Execution, getExecution, hasEnded } from "../../store/records/executions.ts";
import type { Store } from "../../store/store.ts";

const RETRY_AFTER_S = 10;

const logger = getLogger(["hooklaunch", "http"]);

/** The `id` of the last event. A client that reconnects with it has the whole log. */
export const END_ID = "end";

/** The headers of a stream. */
export const STREAM_HEADERS = {
  "content-type": "text/event-stream",
  // Compression, here or in a proxy, would hold lines back.
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

/** The surroundings of log streams. */
export interface LogStreamsOptions {
  store: Store;
  clock: Clock;
  /** Ends all streams. */
  closing: AbortSignal;
  /** The most streams at once. Default 100. */
  followersMax?: number;
  /** The interval of looking for new lines that the engine has not told of. Default 1 s. */
  poll_ms?: number;
  /** The longest time without sending anything. Default 15 s. */
  heartbeat_ms?: number;
  /** The most lines of one read. Default 200. */
  linesMax?: number;
}

type Settings = Required<LogStreamsOptions>;

/** The log to follow. */
export interface Followed {
  executionId: string;
  engine: Engine;
  /** The position to begin at, as the engine gave it. */
  cursor: string;
  /** Tells if the client may still follow the log. */
  isAllowed(): Promise<boolean>;
}

/** All logs that are followed. */
export class LogStreams {
  readonly #settings: Settings;
  #count = 0;

  constructor(options: LogStreamsOptions) {
    this.#settings = {
      followersMax: 100,
      poll_ms: 1_000,
      heartbeat_ms: 15_000,
      linesMax: 200,
      ...options,
    };
  }

  /**
   * Follows a log until its execution has ended and the whole log was sent.
   *
   * @returns the body of the answer
   * @throws {UnavailableError} when too many logs are followed, or the service is closing
   */
  follow(followed: Followed): ReadableStream<Uint8Array<ArrayBuffer>> {
    const { followersMax, closing } = this.#settings;
    if (this.#count >= followersMax || closing.aborted) {
      throw new UnavailableError("Cannot follow one more log", RETRY_AFTER_S);
    }
    this.#count++;
    const source = new LogSource(followed, this.#settings, () => this.#count--);
    // A high-water mark above 0 would read a page ahead.
    return new ReadableStream(source, { highWaterMark: 0 });
  }
}

class LogSource implements UnderlyingDefaultSource<Uint8Array<ArrayBuffer>> {
  readonly #followed: Followed;
  readonly #settings: Settings;
  readonly #release: () => void;
  readonly #over = new AbortController();
  #close = () => {};
  #position: string;
  #unwatch = () => {};
  /** Ends the wait for more lines. */
  #wake = () => {};
  #hasGrown = false;
  #sent_ms: number;

  constructor(followed: Followed, settings: Settings, release: () => void) {
    this.#followed = followed;
    this.#position = followed.cursor;
    this.#settings = settings;
    this.#release = release;
    this.#sent_ms = settings.clock.steady();
  }

  start(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): void {
    this.#close = () => {
      this.#end();
      controller.close();
    };
    const { engine, executionId } = this.#followed;
    this.#unwatch = engine.watchLog(executionId, () => {
      this.#hasGrown = true;
      this.#wake();
    });
    // The client reconnects by itself and continues where it was cut off.
    this.#settings.closing.addEventListener("abort", this.#close, { once: true });
    // The first bytes tell the client that it is connected.
    controller.enqueue(new TextEncoder().encode("retry: 1000\n\n"));
  }

  async pull(
    controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>,
  ): Promise<void> {
    try {
      const { text, isLast } = await this.#next();
      const isAllowed = this.#over.signal.aborted || await this.#followed.isAllowed();
      if (this.#over.signal.aborted) return;
      // Without an end event the client reconnects and gets the reason.
      if (!isAllowed) return this.#close();
      controller.enqueue(new TextEncoder().encode(text));
      this.#sent_ms = this.#settings.clock.steady();
      if (isLast) this.#close();
    } catch (error) {
      // A read fails while the service closes.
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

  /** Waits for something to send. */
  async #next(): Promise<{ text: string; isLast: boolean }> {
    const { store, clock, poll_ms, heartbeat_ms, linesMax: limit } = this.#settings;
    const { engine, executionId } = this.#followed;
    while (!this.#over.signal.aborted) {
      this.#hasGrown = false;
      // First the record: a log that is read after its execution has ended is complete.
      const execution = await getExecution(store, executionId);
      const after = this.#position;
      const page = await engine.log(executionId, { after, limit });
      this.#position = page.next;
      if (page.lines.length > 0) return { text: eventsOf(page), isLast: false };
      if (page.next !== after) continue;
      if (execution === undefined) return { text: "", isLast: true };
      if (hasEnded(execution.status)) return { text: endOf(execution), isLast: true };
      if (clock.steady() - this.#sent_ms >= heartbeat_ms) {
        return { text: ": nothing new\n\n", isLast: false };
      }
      await this.#growth(poll_ms);
    }
    return { text: "", isLast: true };
  }

  /** Waits until the log grows, but no longer than so many milliseconds. */
  async #growth(wait_ms: number): Promise<void> {
    if (this.#hasGrown) return;
    const waiting = new AbortController();
    this.#wake = () => waiting.abort();
    const signal = AbortSignal.any([waiting.signal, this.#over.signal]);
    await delay(wait_ms, { signal }).catch(() => {});
  }

  #end(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    this.#unwatch();
    this.#settings.closing.removeEventListener("abort", this.#close);
    this.#release();
  }
}

function eventsOf({ lines }: LogPage): string {
  return lines.map(({ next, ...line }) => {
    // JSON has no line breaks, which would end the event.
    return `id: ${next}\ndata: ${JSON.stringify(line)}\n\n`;
  }).join("");
}

function endOf({ status, exit_code, reason, duration }: Execution): string {
  const data = JSON.stringify({ status, exit_code, reason, duration });
  return `event: end\nid: ${END_ID}\ndata: ${data}\n\n`;
}
