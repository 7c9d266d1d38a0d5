/**
 * Reading request bodies, within limits of size, time and memory.
 *
 * @module
 */
import { deadline } from "@std/async/deadline";
import { delay } from "@std/async/delay";
import { declaredLength } from "../conditions/request.ts";
import { bufferReader } from "../platform/files/bytes.ts";
import { Deadlines } from "../platform/waiting/deadlines.ts";
import { ignoreTimeout } from "../platform/waiting/promises.ts";
import {
  discardStream,
  FIRST_BYTES_MAX,
  readStream,
  type StreamedBody,
  type StreamFailure,
} from "./body_stream.ts";
import { FairBudget, type Share } from "./fair_budget.ts";
import { isHttp2 } from "./http2.ts";

/** The memory of the bodies of all requests under way. */
const BODIES_BYTES_MAX = 256 * 1024 * 1024;
/** The time that a long body waits for memory. */
const MEMORY_WAIT_MS = 3_000;
/** The time that a body may take to arrive. */
const BODY_TIMEOUT_MS = 30_000;
/** The number of bodies that may be arriving at once. */
const ARRIVING_MAX = 1_024;
/** With that many, a body that takes longer makes room for the next one. */
const SLOW_MS = 100;
/** The interval at which a stop waits for bodies. */
const ARRIVED_POLL_MS = 10;
/** The number of parts that a body may come in, however short they are: each is read by itself. */
const PARTS_MAX = 8_192;
/**
 * The bytes that are read and dropped over HTTP/2 before an answer that does not need them. An answer that
 * comes while the sender still sends ends with RST_STREAM (RFC 9113 section 8.1), and many clients then
 * miss it: curl 7.88, Node, Java and httpx.
 */
const DISCARDED_BYTES_MAX = 64 * 1024 * 1024;
/** A body up to this length is short: it is read in one piece where its length is declared. */
const SHORT_BYTES_MAX = FIRST_BYTES_MAX;

/**
 * Of this many short bodies, one is read as a stream. Deno 2.9 reads what a connection sends into a buffer
 * of 1 KiB, and makes a stream for a body that does not fit behind its head. A larger read makes the buffer
 * as large, until the connection ends: launches of 1 KiB are 11 % faster then (pairs, 32 and 128
 * connections). Nothing tells which connection a request came on. A prime number passes none over.
 */
const STREAMED_ONE_IN = 31;
/** A body up to this length mostly fits into the buffer of 1 KiB. */
const FITS_BYTES_MAX = 512;

/** The reason why a body was not read. */
export type BodyFailure = StreamFailure | "too_slow";

/** A body, or the reason why it was not read. */
export type ReadBody = StreamedBody | { failure: BodyFailure };

/** A body, or the reason why it was not read. Its memory counts until this is disposed of. */
export interface HeldBody extends Disposable {
  readonly body: ReadBody;
  /** Over HTTP/2, settles when no more comes of a body that was too slow. */
  readonly rest?: Promise<unknown>;
  /** Takes a number of bytes in place of those before, and may wait until so many are free. */
  grow(bytes: number): Promise<boolean>;
}

/** The memory of one body. */
class Memory implements HeldBody {
  body: ReadBody = { failure: "no_memory" };
  rest?: Promise<unknown>;
  readonly #budgets: Readonly<Record<"short" | "long", FairBudget>>;
  readonly #owners: () => readonly string[];
  #share: Share | undefined;
  #isLong = false;
  #isOver = false;

  constructor(
    budgets: Readonly<Record<"short" | "long", FairBudget>>,
    owners: () => readonly string[],
  ) {
    this.#budgets = budgets;
    this.#owners = owners;
  }

  hold(bytes: number): boolean {
    if (this.#isOver) return false;
    const { short, long } = this.#budgets;
    const isLong = bytes > SHORT_BYTES_MAX;
    if (this.#share && isLong === this.#isLong) return this.#share.resize(bytes);
    const share = isLong ? long.take(bytes, this.#owners()) : short.take(bytes);
    if (share === undefined) return false;
    this.#share?.[Symbol.dispose]();
    this.#share = share;
    this.#isLong = isLong;
    return true;
  }

  /** Waits without reading the body: a sender that gets 503 at once sends it again at once. */
  async grow(bytes: number): Promise<boolean> {
    const until_ms = performance.now() + MEMORY_WAIT_MS;
    while (!this.hold(bytes)) {
      const left_ms = until_ms - performance.now();
      if (this.#isOver || left_ms <= 0) return false;
      await deadline(this.#budgets.long.released, left_ms).catch(ignoreTimeout);
    }
    return true;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#share?.[Symbol.dispose]();
    this.#share = undefined;
  }
}

/** A read with a deadline. */
interface TimedRead {
  request: Request;
  /** Cancelled at the deadline, over HTTP/1.1. */
  reader: ReadableStreamBYOBReader;
  memory?: Memory;
}

/** Reads bodies, and counts the memory that they take until they are let go. */
export class BodyReader implements Disposable {
  readonly #deadlines: Deadlines;
  readonly #memory: FairBudget;
  readonly #shortMemory: FairBudget;
  readonly #arriving_max: number;
  readonly #slow_ms: number;
  readonly #parts_max: number;
  #shortBodies = 0;

  /** With `short_bytes_max`, short bodies have so much memory of their own, which long ones cannot take. */
  constructor(
    {
      timeout_ms = BODY_TIMEOUT_MS,
      bodies_bytes_max = BODIES_BYTES_MAX,
      short_bytes_max = 0,
      arriving_max = ARRIVING_MAX,
      slow_ms = SLOW_MS,
      parts_max = PARTS_MAX,
    } = {},
  ) {
    this.#deadlines = new Deadlines(timeout_ms);
    this.#memory = new FairBudget(bodies_bytes_max);
    this.#shortMemory = short_bytes_max > 0 ? new FairBudget(short_bytes_max) : this.#memory;
    this.#arriving_max = arriving_max;
    this.#slow_ms = slow_ms;
    this.#parts_max = parts_max;
  }

  /**
   * Reads a body; its memory counts until it is let go. It counts as the body comes, not as it is
   * announced: a sender that announces much and sends nothing takes no room. Where too many bodies are
   * arriving, the slowest is given up for the next. Never rejects.
   *
   * @param limit_bytes a longer body is not kept
   * @param owners returns the names that its memory counts for, such as its trigger and its sender; most
   *   bodies are short and need none
   */
  async read(
    request: Request,
    limit_bytes: number,
    owners: () => readonly string[] = () => [],
  ): Promise<HeldBody> {
    const memory = new Memory({ short: this.#shortMemory, long: this.#memory }, owners);
    memory.body = await this.#read(request, limit_bytes, memory);
    return memory;
  }

  /**
   * Reads a body and drops it, for an answer that does not depend on it: a short one, which costs less than
   * a new connection; over HTTP/2 a long one, too. Never rejects.
   *
   * @returns whether it was read to its end
   */
  async discard(request: Request): Promise<boolean> {
    const { headers } = request;
    const bytes_max = isHttp2(headers) ? DISCARDED_BYTES_MAX : SHORT_BYTES_MAX;
    const declared_bytes = declaredLength(headers) ?? Infinity;
    const isTooLong = declared_bytes !== Infinity && declared_bytes > bytes_max;
    if (isTooLong || !isPlainlySent(request) || !this.#hasRoom()) return false;
    const stream = this.#streamOf(request, declared_bytes);
    if (stream === null) return true;
    const reader = stream && bufferReader(stream);
    if (reader === undefined) return "bytes" in await this.#readInOnePiece(request);
    return await this.#timed({ request, reader }, () => discardStream(reader, bytes_max)) === true;
  }

  async #read(request: Request, limit_bytes: number, memory: Memory): Promise<ReadBody> {
    if (!isPlainlySent(request)) return { failure: "cut_off" };
    const declared_bytes = declaredLength(request.headers) ?? Infinity;
    if (declared_bytes !== Infinity && declared_bytes > limit_bytes) {
      if (isHttp2(request.headers)) await this.discard(request);
      return { failure: "too_large" };
    }
    if (!this.#hasRoom()) return { failure: "no_memory" };
    const stream = this.#streamOf(request, declared_bytes);
    if (stream === null) return { bytes: new Uint8Array() };
    const reader = stream && bufferReader(stream);
    if (reader === undefined) {
      const read = await this.#readInOnePiece(request, memory);
      if ("failure" in read) return read;
      if (read.bytes.length > limit_bytes) return { failure: "too_large" };
      return memory.hold(read.bytes.length) ? read : { failure: "no_memory" };
    }
    const limits = { limit_bytes, declared_bytes, parts_max: this.#parts_max, memory };
    return await this.#timed({ request, reader, memory }, async () => {
      const read = await readStream(reader, limits);
      if ("bytes" in read) return read;
      if (isHttp2(request.headers)) await discardStream(reader, DISCARDED_BYTES_MAX);
      await reader.cancel();
      return read;
    });
  }

  /** Returns the stream of a body; null for none, undefined for a body that is read in one piece. */
  #streamOf(request: Request, declared_bytes: number): Request["body"] | undefined {
    // Deno makes a stream when it is asked for the body, which costs more than reading a short one.
    if (declared_bytes > SHORT_BYTES_MAX) return request.body;
    if (declared_bytes <= FITS_BYTES_MAX || ++this.#shortBodies % STREAMED_ONE_IN > 0) {
      return undefined;
    }
    return request.body;
  }

  /** Returns whether another body may arrive. */
  #hasRoom(): boolean {
    return this.#deadlines.size < this.#arriving_max || this.#deadlines.hurry(this.#slow_ms);
  }

  async #readInOnePiece(request: Request, memory?: Memory): Promise<ReadBody> {
    const { promise, resolve } = Promise.withResolvers<ReadBody>();
    const reading = request.bytes().then(
      (bytes) => resolve({ bytes }),
      () => resolve({ failure: "cut_off" }),
    );
    const done = this.#deadlines.begin((isHurried) => {
      if (memory && isHttp2(request.headers)) memory.rest = reading;
      resolve(givenUp(isHurried));
    });
    const read = await promise;
    done();
    return read;
  }

  /**
   * Ends a read at its deadline, or when another body needs its place. Over HTTP/2 the stream is not
   * cancelled then: RST_STREAM would come with the answer.
   */
  async #timed<T>(
    { request, reader, memory }: TimedRead,
    read: () => Promise<T>,
  ): Promise<T | { failure: "too_slow" | "no_memory" | "cut_off" }> {
    const { promise, resolve } = Promise.withResolvers<
      T | { failure: "too_slow" | "no_memory" | "cut_off" }
    >();
    // The sender may go away, or break the rules of chunked bodies.
    const result = read().catch(() => ({ failure: "cut_off" as const }));
    void result.then(resolve);
    const done = this.#deadlines.begin((isHurried) => {
      resolve(givenUp(isHurried));
      if (isHttp2(request.headers)) {
        if (memory) memory.rest = result;
        return;
      }
      reader.cancel().catch(() => {
        // The connection is closed already.
      });
    });
    const first = await promise;
    done();
    return first;
  }

  /** Waits until no body is arriving, but not for longer than `deadline_ms`. */
  async arrived(deadline_ms: number): Promise<void> {
    const until_ms = performance.now() + deadline_ms;
    while (this.#deadlines.size > 0 && performance.now() < until_ms) await delay(ARRIVED_POLL_MS);
  }

  /** Ends; bodies that are being read are not waited for any more. */
  [Symbol.dispose](): void {
    this.#deadlines[Symbol.dispose]();
  }
}

/** Returns the failure of a body at its deadline, or of one whose place another body needs. */
function givenUp(isHurried: boolean): { failure: "too_slow" | "no_memory" } {
  return { failure: isHurried ? "no_memory" : "too_slow" };
}

/** Returns whether the bytes that come are the body's own: Deno undoes no transfer coding but `chunked`. */
function isPlainlySent(request: Request): boolean {
  const coding = request.headers.get("transfer-encoding");
  return coding === null || coding.toLowerCase() === "chunked";
}
