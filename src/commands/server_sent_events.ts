/**
 * Reading server-sent events (WHATWG HTML, "Server-sent events").
 *
 * @module
 */

const EVENT_LENGTH_MAX = 4 * 1024 * 1024;

/** One event. */
export interface ServerSentEvent {
  /** Its type; `message` when it names none. */
  event: string;
  data: string;
  /** The id of this event, or of the latest one that had an id. */
  id: string;
}

/**
 * Reads the events of an answer, those together that come together. An event that is cut off at the end is left out, as it will come again.
 *
 * @param silence_ms how long nothing may come, not even a comment
 * @throws {Error} when nothing comes, when the connection is lost, or when an event is far too long
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { silence_ms }: { silence_ms: number },
): AsyncGenerator<ServerSentEvent[]> {
  const parser = new EventParser();
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await within(silence_ms, reader.read());
      if (done) return;
      const events = parser.push(value);
      if (events.length > 0) yield events;
    }
  } finally {
    await reader.cancel().catch(() => {
      // The connection is lost already.
    });
  }
}

/** Makes events of the pieces of a stream. */
class EventParser {
  #rest = "";
  #event = "";
  #data: string[] = [];
  #length = 0;
  #id = "";

  push(text: string): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    const all = this.#rest + text;
    let start = 0;
    for (const { 0: lineBreak, index } of all.matchAll(/\r\n|\n|\r/g)) {
      // A CR at the end may be the first half of a line break.
      if (lineBreak === "\r" && index === all.length - 1) break;
      const event = this.#line(all.slice(start, index));
      if (event) events.push(event);
      start = index + lineBreak.length;
    }
    this.#rest = all.slice(start);
    if (this.#rest.length + this.#length > EVENT_LENGTH_MAX) {
      throw new RangeError("Cannot read the events: one of them is too long");
    }
    return events;
  }

  #line(line: string): ServerSentEvent | undefined {
    if (line === "") return this.#dispatch();
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "event") this.#event = value;
    if (field === "id" && !value.includes("\0")) this.#id = value;
    if (field === "data") {
      this.#data.push(value);
      this.#length += value.length;
    }
    return undefined;
  }

  #dispatch(): ServerSentEvent | undefined {
    const event = { event: this.#event || "message", data: this.#data.join("\n"), id: this.#id };
    const hasData = this.#data.length > 0;
    this.#event = "";
    this.#data = [];
    this.#length = 0;
    return hasData ? event : undefined;
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`Nothing came for ${ms / 1_000} s`)), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
