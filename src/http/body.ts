/**
 * Reading request bodies, within limits of size, time and memory.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import { Deadlines } from "../platform/waiting/deadlines.ts";

/** How much memory the bodies of all requests under way may take together. */
const BODIES_BYTES_MAX = 256 * 1024 * 1024;
/** How long a body may take to arrive. */
const BODY_TIMEOUT_MS = 30_000;
/** How many bodies may be arriving at once. */
const ARRIVING_MAX = 1_024;
/** When there are so many, a body that has taken so long makes room for another one. */
const SLOW_MS = 100;
/** How often it is looked whether bodies have arrived. Only a service that stops asks, so requests pay nothing for it. */
const ARRIVED_POLL_MS = 10;
/** A body of an announced length up to this is read in one piece, which costs less than a stream. */
export const IN_ONE_PIECE_BYTES_MAX = 16 * 1024;

/**
 * Of so many short bodies, one is read as a stream all the same. Deno 2.9 reads what a connection sends
 * into a buffer of 1 KiB, and a request that fits into it is had without a stream, for a third of the
 * time and with nothing left to the garbage collection. Reading into a larger buffer makes that one
 * as large, for all that the connection sends from then on. Nothing tells which connection a request
 * came on, so every so many-th is read so: a prime number, lest connections that take turns be passed over.
 */
const STREAMED_ONE_IN = 31;
/** A body up to this mostly fits into the buffer of 1 KiB, behind its head. */
const WHOLE_ANYWAY_BYTES_MAX = 512;

/** The room that is there for the first bytes of a body in a stream; it counts as they come. */
const FIRST_BYTES_MAX = 16 * 1024;
/** So many times larger is the room for what comes behind that. */
const GROWTH = 4;
/**
 * How much is read at once. Deno 2.9 has a buffer as large for each connection, as long as that is open;
 * and so much of a body in chunks it takes in at once, and moves all of it at each chunk.
 */
const READ_BYTES_MAX = 8 * 1024;
/**
 * Room behind what a body may take. By it is seen that one is too long; and Deno 2.9 reads the line of
 * a chunk's length, of 4 KiB at most, into the same buffer: where this is too short for it, it takes in
 * all that comes and waits for ever.
 */
const SPARE_BYTES = 5 * 1024;
/** How many parts a body may come in, however short they are: each chunk is read by itself. */
const PARTS_MAX = 8_192;
/** How long they must be, taken together, where there are more. */
export const PART_BYTES_MIN = 64;

/** A body, or why there is none. */
export type ReadBody =
  | { bytes: Uint8Array<ArrayBuffer> }
  | { failure: "too_large" | "too_slow" | "too_many_parts" | "cut_off" | "no_memory" };

/** A body, or why there is none. What it takes of memory counts until this is disposed of. */
export interface HeldBody extends Disposable {
  readonly body: ReadBody;
}

/** The memory of all bodies together. */
interface Memory {
  held_bytes: number;
  readonly bytes_max: number;
  /** How much more there may be where the last to come are short. */
  readonly short_bytes_max: number;
}

/** What one body takes of the memory of all. */
class Share implements HeldBody {
  body: ReadBody = { failure: "no_memory" };
  #held_bytes = 0;
  readonly #all: Memory;

  constructor(all: Memory) {
    this.#all = all;
  }

  /** Makes so many bytes its own, in place of what was; false when there are not so many. */
  hold(bytes: number): boolean {
    const others_bytes = this.#all.held_bytes - this.#held_bytes;
    const { bytes_max, short_bytes_max } = this.#all;
    const most = bytes <= FIRST_BYTES_MAX ? bytes_max + short_bytes_max : bytes_max;
    if (others_bytes + bytes > most) return false;
    this.#all.held_bytes = others_bytes + bytes;
    this.#held_bytes = bytes;
    return true;
  }

  [Symbol.dispose](): void {
    this.#all.held_bytes -= this.#held_bytes;
    this.#held_bytes = 0;
  }
}

/** Reads bodies, and counts the memory that they take until they are let go. */
export class BodyReader implements Disposable {
  /** How many short bodies there were since one was read as a stream. */
  #short = 0;
  readonly #deadlines: Deadlines;
  readonly #memory: Memory;
  readonly #arriving_max: number;
  readonly #slow_ms: number;
  readonly #parts_max: number;

  /** With `short_bytes_max` there is so much memory for bodies of up to 16 KiB that longer ones cannot take. */
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
    this.#memory = { held_bytes: 0, bytes_max: bodies_bytes_max, short_bytes_max };
    this.#arriving_max = arriving_max;
    this.#slow_ms = slow_ms;
    this.#parts_max = parts_max;
  }

  /**
   * Reads a body; its memory counts until it is let go. It counts as the body comes and not when it is
   * announced: who announces much and sends nothing takes no room from others. Nor do slow senders:
   * where too many bodies are arriving, the slowest is given up for the next. Never rejects.
   *
   * @param limit_bytes a longer body is not read on
   */
  async read(request: Request, limit_bytes: number): Promise<HeldBody> {
    const share = new Share(this.#memory);
    share.body = await this.#read(request, limit_bytes, share);
    return share;
  }

  #read(request: Request, limit_bytes: number, share: Share): ReadBody | Promise<ReadBody> {
    if (!isPlainlySent(request)) return { failure: "cut_off" };
    const length = declaredLength(request);
    if (length !== undefined && length > limit_bytes) return { failure: "too_large" };
    if (!this.#hasRoom()) return { failure: "no_memory" };
    return this.#isForOnePiece(length)
      ? this.#readInOnePiece(request, limit_bytes, share)
      : this.#readStream(request, length ?? Infinity, limit_bytes, share);
  }

  #isForOnePiece(length: number | undefined): boolean {
    if (length === undefined || length > IN_ONE_PIECE_BYTES_MAX) return false;
    if (length <= WHOLE_ANYWAY_BYTES_MAX) return true;
    this.#short = (this.#short + 1) % STREAMED_ONE_IN;
    return this.#short > 0;
  }

  /** Whether another body may arrive. */
  #hasRoom(): boolean {
    return this.#deadlines.size < this.#arriving_max || this.#deadlines.hurry(this.#slow_ms);
  }

  async #readInOnePiece(request: Request, limit_bytes: number, share: Share): Promise<ReadBody> {
    const { promise, resolve } = Promise.withResolvers<ReadBody>();
    const done = this.#deadlines.begin((isHurried) => resolve(givenUp(isHurried)));
    request.bytes().then((bytes) => resolve({ bytes }), () => resolve({ failure: "cut_off" }));
    const read = await promise;
    done();
    if ("failure" in read) return read;
    if (read.bytes.length > limit_bytes) return { failure: "too_large" };
    return share.hold(read.bytes.length) ? read : { failure: "no_memory" };
  }

  async #readStream(
    request: Request,
    length: number,
    limit_bytes: number,
    share: Share,
  ): Promise<ReadBody> {
    if (request.body === null) return { bytes: new Uint8Array() };
    const reader = bufferReader(request.body);
    if (reader === undefined) return await this.#readInOnePiece(request, limit_bytes, share);
    let late: ReadBody | undefined;
    const done = this.#deadlines.begin((isHurried) => {
      late = givenUp(isHurried);
      reader.cancel().catch(() => {
        // The connection is gone already, which is what was wanted.
      });
    });
    try {
      const read = await readAll(reader, Math.min(length, limit_bytes), {
        limit_bytes,
        parts_max: this.#parts_max,
        share,
      });
      return late ?? read;
    } catch {
      // The sender went away, or broke the rules of chunked bodies.
      return late ?? { failure: "cut_off" };
    } finally {
      done();
    }
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

/** What becomes of a body that is waited for no more, at its deadline or since another one needs its place. */
function givenUp(isHurried: boolean): ReadBody {
  return { failure: isHurried ? "no_memory" : "too_slow" };
}

/**
 * Reads to the end, unless there is more than the limit or no memory for it. The bytes come straight
 * into one buffer that grows with them: what a sender announces takes no memory, nor do many chunks of
 * one byte more than four times theirs.
 *
 * @param most how long it can be, by its limit and by what was declared
 */
async function readAll(
  reader: ReadableStreamBYOBReader,
  most: number,
  { limit_bytes, parts_max, share }: { limit_bytes: number; parts_max: number; share: Share },
): Promise<ReadBody> {
  let buffer = new Uint8Array();
  let room = -1;
  let size = 0;
  for (let parts = 0;; parts++) {
    if (parts > parts_max + size / PART_BYTES_MIN) return await giveUp(reader, "too_many_parts");
    if (size > room) {
      room = Math.min(most, Math.max(FIRST_BYTES_MAX, GROWTH * size));
      if (size > 0 && !share.hold(room)) return await giveUp(reader, "no_memory");
      const larger = new Uint8Array(room + SPARE_BYTES);
      larger.set(buffer.subarray(0, size));
      buffer = larger;
    }
    const { done, value } = await reader.read(buffer.subarray(size, size + READ_BYTES_MAX));
    if (value === undefined) return { failure: "cut_off" };
    buffer = new Uint8Array(value.buffer);
    size += value.length;
    if (size > limit_bytes) return await giveUp(reader, "too_large");
    if (size <= FIRST_BYTES_MAX && !share.hold(size)) return await giveUp(reader, "no_memory");
    if (done) return { bytes: buffer.subarray(0, size) };
  }
}

/** A reader into buffers of one's own; none of a body that has come in whole and lies in memory. */
function bufferReader(body: ReadableStream<Uint8Array>): ReadableStreamBYOBReader | undefined {
  try {
    return body.getReader({ mode: "byob" });
  } catch (error) {
    // So it says of which kind a stream is; nothing else tells it.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

async function giveUp(
  reader: ReadableStreamBYOBReader,
  failure: "too_large" | "too_many_parts" | "no_memory",
): Promise<ReadBody> {
  await reader.cancel();
  return { failure };
}

/** Whether the bytes that come are the body's own: no transfer coding is undone but `chunked`. */
function isPlainlySent(request: Request): boolean {
  const coding = request.headers.get("transfer-encoding");
  return coding === null || coding.toLowerCase() === "chunked";
}

/** The length that the sender declares; undefined when it declares none. */
function declaredLength(request: Request): number | undefined {
  const header = request.headers.get("content-length");
  return header !== null && /^\d+$/.test(header) ? Number(header) : undefined;
}
