/**
 * Requests that go to the leader through the database: a platform gives instances no addresses of their own. They
 * are encrypted there, as an operator's token is among their headers.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/clock.ts";
import { messageOf } from "../platform/errors.ts";
import { readFirstBytes } from "../platform/files/bytes.ts";
import { pause } from "../platform/waiting/timers.ts";
import { unavailable } from "../http/problem.ts";
import type { Handler } from "../service/runtime.ts";
import { putRelayed, relayedTo, takeRelayed } from "../store/records/relayed.ts";
import type { Store } from "../store/store.ts";
import type { SecretBox } from "../triggers/secrets.ts";

/** The pause between two looks of the leader. */
const LOOK_MS = 250;
/** The pauses between two looks for an answer. */
const WAIT_MS_MIN = 50;
const WAIT_MS_MAX = 500;
const ANSWER_MS_MAX = 60_000;
/** The longest body, either way. Longer files go to the bucket and come from there. */
const BODY_BYTES_MAX = 8 * 1024 * 1024;
/** A stream of events is cut then: its reader asks on where it ended. */
const EVENTS_MS = 2_000;
const RETRY_AFTER_S = 1;
const SCHEME = "relay:";
/** The host of requests that came this way; nothing looks at it. */
const HOST = "http://relay.invalid";

const log = getLogger(["hooklaunch", "http"]);

interface RelayParts {
  store: Store;
  clock: Clock;
  secrets: SecretBox;
}

/** A request or an answer as it is stored. */
interface Message {
  method: string;
  path: string;
  status: number;
  headers: [string, string][];
  /** In base64; absent where there is none. */
  body?: string;
}

/** The way to the leader through the database. */
export class Relay {
  readonly #parts: RelayParts;
  readonly #closing = new AbortController();
  readonly #answering = new Set<Promise<void>>();
  #serving: Promise<void> | undefined;

  constructor(parts: RelayParts) {
    this.#parts = parts;
  }

  /** The address of this instance, for the others. */
  get address(): string {
    return `${SCHEME}${this.#parts.store.shared?.id}`;
  }

  /**
   * Sends a request to another instance, and waits for its answer.
   *
   * @throws {TypeError} when it does not answer, or is too long
   */
  async send(
    url: string,
    { method = "GET", headers, body, signal }: RequestInit,
  ): Promise<Response> {
    const { pathname } = new URL(url);
    const [to = ""] = pathname.split("/", 1);
    const path = url.slice(SCHEME.length + to.length);
    const id = crypto.randomUUID();
    const sent = body instanceof ReadableStream ? await bytesOf(body) : undefined;
    const { kv } = this.#parts.store;
    const message = { method, path, status: 0, headers: [...new Headers(headers)] };
    await putRelayed(kv, id, { to }, this.#sealed(id, message, sent));
    const text = await this.#answerTo(id, to, signal ?? undefined);
    const { status, headers: answered, body: got } = this.#opened(id, text);
    return new Response(got === undefined ? null : Uint8Array.fromBase64(got), {
      status,
      headers: answered,
    });
  }

  /** Answers what other instances send, until it is closed. */
  serve(handler: Handler): void {
    this.#serving = this.#serve(handler);
  }

  /** Takes no more requests. Resolves when those under way are answered. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#serving;
    await Promise.all(this.#answering);
  }

  async #answerTo(id: string, to: string, signal: AbortSignal | undefined): Promise<string> {
    const { store: { kv, shared }, clock } = this.#parts;
    const until_ms = clock.steady() + ANSWER_MS_MAX;
    for (let wait_ms = WAIT_MS_MIN;; wait_ms = Math.min(2 * wait_ms, WAIT_MS_MAX)) {
      await pause(clock, wait_ms, signal);
      signal?.throwIfAborted();
      // Before the look: one that has left has stored its answers.
      const isGone = !shared?.instances.all.some((each) => each.id === to);
      const text = await takeRelayed(kv, id, "answer");
      if (text !== undefined) return text;
      if (isGone || clock.steady() > until_ms) throw new TypeError("It does not answer");
    }
  }

  async #serve(handler: Handler): Promise<void> {
    const { store, clock } = this.#parts;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await pause(clock, LOOK_MS, signal);
      const { shared } = store;
      // Alone, or not as the leader, it is sent nothing.
      if (!shared?.instances.isLeader || shared.instances.all.length < 2) continue;
      try {
        for (const id of await relayedTo(store.kv, shared.id)) await this.#take(id, handler);
      } catch (error) {
        log.error("Cannot look for requests of other instances: {error}", {
          error: messageOf(error),
        });
      }
    }
  }

  async #take(id: string, handler: Handler): Promise<void> {
    const { kv, shared } = this.#parts.store;
    const text = await takeRelayed(kv, id, { to: shared?.id ?? "" });
    if (text === undefined) return;
    const answering: Promise<void> = this.#answer(id, text, handler).catch((error) =>
      log.warn("Cannot answer a request of another instance: {error}", { error: messageOf(error) })
    ).finally(() => this.#answering.delete(answering));
    this.#answering.add(answering);
  }

  async #answer(id: string, text: string, handler: Handler): Promise<void> {
    const { method, path, headers, body } = this.#opened(id, text);
    const bytes = body === undefined ? null : Uint8Array.fromBase64(body);
    const request = new Request(`${HOST}${path}`, { method, headers, body: bytes });
    const { promise: completed, resolve: complete } = Promise.withResolvers<void>();
    const answered = async (answer: Response) => {
      const { status, headers, body } = answer;
      const isEvents = headers.get("content-type")?.startsWith("text/event-stream");
      const sent = body === null
        ? undefined
        : await bytesOf(body, isEvents ? EVENTS_MS : undefined);
      return this.#sealed(id, { method, path, status, headers: [...headers] }, sent);
    };
    try {
      const remoteAddr = { transport: "tcp", hostname: "0.0.0.0", port: 0 } as const;
      const answer = await handler(request, { remoteAddr, completed });
      const sealed = await answered(answer).catch(() => answered(unavailable(RETRY_AFTER_S)));
      await putRelayed(this.#parts.store.kv, id, "answer", sealed);
    } finally {
      complete();
    }
  }

  #sealed(id: string, message: Message, body: Uint8Array | undefined): string {
    const whole = { ...message, ...(body === undefined ? {} : { body: body.toBase64() }) };
    return this.#parts.secrets.seal(JSON.stringify(whole), id);
  }

  #opened(id: string, sealed: string): Message {
    return JSON.parse(this.#parts.secrets.open(sealed, id));
  }
}

/**
 * Reads a body.
 *
 * @param within_ms the time after which the rest is left out
 * @throws {TypeError} when it is too long
 */
async function bytesOf(
  body: ReadableStream<Uint8Array>,
  within_ms?: number,
): Promise<Uint8Array> {
  const enough = new AbortController();
  const timer = within_ms === undefined ? undefined : setTimeout(() => enough.abort(), within_ms);
  try {
    const { bytes, isCut } = await readFirstBytes(body, BODY_BYTES_MAX, {
      signal: enough.signal,
      onCut: () => enough.abort(),
    });
    if (isCut) throw new TypeError("It is too long to be passed on");
    return bytes;
  } finally {
    clearTimeout(timer);
  }
}
