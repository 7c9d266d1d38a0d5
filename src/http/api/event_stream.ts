/**
 * Server-sent events (WHATWG HTML, "Server-sent events"). Reads no more than the client takes.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { delay } from "@std/async/delay";
import type { Clock } from "../../platform/clock.ts";
import { messageOf, UnavailableError } from "../../platform/errors.ts";

const RETRY_AFTER_S = 10;

const logger = getLogger(["hooklaunch", "http"]);

/** The headers of a stream. */
export const STREAM_HEADERS = {
  "content-type": "text/event-stream",
  // Compression, here or in a proxy, would hold events back.
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

/** The surroundings of streams. */
export interface EventStreamsOptions {
  clock: Clock;
  /** Brings what is kept in memory up to what is stored, before each look. */
  sync?: () => Promise<void>;
  /** Ends all streams. */
  closing: AbortSignal;
  /** The most streams at once. Default 100. */
  followersMax?: number;
  /** The interval of looking for what the source has not told of. Default 1 s. */
  poll_ms?: number;
  /** The longest time without sending anything. Default 15 s. */
  heartbeat_ms?: number;
  /** The most records of one read. Default 200. */
  linesMax?: number;
}

type Settings = Required<EventStreamsOptions>;

/** Some events, as they are sent. */
export interface Events {
  text: string;
  /** Set when the stream ends behind them. */
  isLast?: boolean;
}

/** The source of the events of one stream. */
export interface Followed {
  /** Its description for the log, such as `the deliveries`. */
  what: string;
  /** Returns what is new since the last look; undefined when nothing is. */
  look(): Promise<Events | undefined>;
  /** Tells if the client may still follow it. */
  isAllowed(): Promise<boolean>;
  /** Calls a function when there may be something new, until what it returns is called. */
  watch?(onNew: () => void): () => void;
}

/** All streams. */
export class EventStreams {
  readonly #settings: Settings;
  #count = 0;

  constructor(options: EventStreamsOptions) {
    this.#settings = {
      followersMax: 100,
      poll_ms: 1_000,
      heartbeat_ms: 15_000,
      linesMax: 200,
      sync: () => Promise.resolve(),
      ...options,
    };
  }

  /** The most records that one look reads. */
  get linesMax(): number {
    return this.#settings.linesMax;
  }

  /**
   * Follows a source until it ends.
   *
   * @returns the body of the answer
   * @throws {UnavailableError} when there are too many streams, or the service is closing
   */
  follow(followed: Followed): ReadableStream<Uint8Array<ArrayBuffer>> {
    const { followersMax, closing } = this.#settings;
    if (this.#count >= followersMax || closing.aborted) {
      throw new UnavailableError(`Cannot follow ${followed.what}: too many streams`, RETRY_AFTER_S);
    }
    this.#count++;
    const source = new EventSource(followed, this.#settings, () => this.#count--);
    // A high-water mark above 0 would read a page ahead.
    return new ReadableStream(source, { highWaterMark: 0 });
  }
}

class EventSource implements UnderlyingDefaultSource<Uint8Array<ArrayBuffer>> {
  readonly #followed: Followed;
  readonly #settings: Settings;
  readonly #release: () => void;
  readonly #over = new AbortController();
  #close = () => {};
  #unwatch = () => {};
  /** Ends the wait for something new. */
  #wake = () => {};
  #hasNew = false;
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
    this.#unwatch = this.#followed.watch?.(() => {
      this.#hasNew = true;
      this.#wake();
    }) ?? this.#unwatch;
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
      logger.error("Cannot follow {what}: {error}", {
        what: this.#followed.what,
        error: messageOf(error),
      });
      throw error;
    }
  }

  cancel(): void {
    this.#end();
  }

  /** Waits for something to send. */
  async #next(): Promise<Events> {
    const { clock, poll_ms, heartbeat_ms, sync } = this.#settings;
    while (!this.#over.signal.aborted) {
      this.#hasNew = false;
      await sync();
      const found = await this.#followed.look();
      if (found) return found;
      if (clock.steady() - this.#sent_ms >= heartbeat_ms) return { text: ": nothing new\n\n" };
      await this.#wait(poll_ms);
    }
    return { text: "", isLast: true };
  }

  /** Waits until there may be something new, but no longer than so many milliseconds. */
  async #wait(wait_ms: number): Promise<void> {
    if (this.#hasNew) return;
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

/** Writes an event. JSON has no line breaks, which would end it. */
export function eventText(
  { event, id, data }: { event?: string; id: string; data: unknown },
): string {
  const type = event === undefined ? "" : `event: ${event}\n`;
  return `${type}id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
}
