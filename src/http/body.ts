/**
 * Reading request bodies, within limits of size, time and memory.
 *
 * @module
 */
import { Deadlines } from "../deadlines.ts";

/** How much memory the bodies of all requests under way may take together. */
const BODIES_BYTES_MAX = 256 * 1024 * 1024;
/** How long a body may take to arrive. */
const BODY_TIMEOUT_MS = 30_000;

/** A body, or why there is none. */
export type ReadBody =
  | { bytes: Uint8Array<ArrayBuffer> }
  | { failure: "too_large" | "too_slow" | "cut_off" | "no_memory" };

/** Takes memory for so many bytes; false when there is none left. */
type Hold = (bytes: number) => boolean;

/** Reads bodies, and counts the memory that they take until they are released. */
export class BodyReader implements Disposable {
  #held_bytes = 0;
  readonly #deadlines: Deadlines;
  readonly #bodies_bytes_max: number;

  constructor({ timeout_ms = BODY_TIMEOUT_MS, bodies_bytes_max = BODIES_BYTES_MAX } = {}) {
    this.#deadlines = new Deadlines(timeout_ms);
    this.#bodies_bytes_max = bodies_bytes_max;
  }

  /**
   * Reads a body and hands it to `use`; its memory counts until `use` has ended. It counts as the body
   * comes and not when it is announced: who announces much and sends nothing takes no room from others.
   *
   * @param limit_bytes a longer body is not read on
   */
  async with<T>(
    request: Request,
    limit_bytes: number,
    use: (body: ReadBody) => Promise<T>,
  ): Promise<T> {
    if (!isPlainlySent(request)) return await use({ failure: "cut_off" });
    const length = declaredLength(request);
    if (length !== undefined && length > limit_bytes) return await use({ failure: "too_large" });
    let held_bytes = 0;
    const hold: Hold = (bytes) => {
      if (this.#held_bytes + bytes > this.#bodies_bytes_max) return false;
      this.#held_bytes += bytes;
      held_bytes += bytes;
      return true;
    };
    try {
      return await use(await this.#read(request, limit_bytes, hold));
    } finally {
      this.#held_bytes -= held_bytes;
    }
  }

  async #read(request: Request, limit_bytes: number, hold: Hold): Promise<ReadBody> {
    if (request.body === null) return { bytes: new Uint8Array() };
    const reader = request.body.getReader();
    let late = false;
    const done = this.#deadlines.begin(() => {
      late = true;
      reader.cancel().catch(() => {
        // The connection is gone already, which is what was wanted.
      });
    });
    try {
      const read = await readAll(reader, limit_bytes, hold);
      return late ? { failure: "too_slow" } : read;
    } catch {
      // The sender went away, or broke the rules of chunked bodies.
      return { failure: late ? "too_slow" : "cut_off" };
    } finally {
      done();
    }
  }

  /** Ends; bodies that are being read are not waited for any more. */
  [Symbol.dispose](): void {
    this.#deadlines[Symbol.dispose]();
  }
}

/**
 * Reads to the end, unless there is more than the limit or no memory for it. The bytes go into one
 * buffer that grows: a body may come in chunks of one byte, and an array for each of them would take a
 * hundred times its size.
 */
async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
  limit_bytes: number,
  hold: Hold,
): Promise<ReadBody> {
  let buffer = new Uint8Array();
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { bytes: buffer.subarray(0, size) };
    const end = size + value.length;
    if (end > limit_bytes) return await giveUp(reader, "too_large");
    if (end > buffer.length) {
      const larger = new Uint8Array(Math.min(limit_bytes, Math.max(end, 2 * buffer.length)));
      if (!hold(larger.length - buffer.length)) return await giveUp(reader, "no_memory");
      larger.set(buffer);
      buffer = larger;
    }
    buffer.set(value, size);
    size = end;
  }
}

async function giveUp(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  failure: "too_large" | "no_memory",
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
  return header !== null && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}
