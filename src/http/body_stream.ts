/**
 * Reading a body as a stream, into one buffer that grows with it.
 *
 * @module
 */

/** Size of the buffer for the first bytes of a body; it counts as they come. */
export const FIRST_BYTES_MAX = 16 * 1024;
/** Growth factor of the buffer. */
const GROWTH = 4;
/**
 * The most that one read takes. Deno 2.9 keeps a buffer of that size for each connection as long as it is
 * open, and moves all of it at each chunk of a body in chunks.
 */
const READ_BYTES_MAX = 8 * 1024;
/**
 * Room behind the longest body. It shows that a body is too long. Deno 2.9 also reads the line with a
 * chunk's length, of at most 4 KiB, into the same buffer: in a shorter one it waits for ever.
 */
const SPARE_BYTES = 5 * 1024;
/** The length that each part of a body has on average, where it comes in many parts. */
export const PART_BYTES_MIN = 64;

/** The number of reads after which the rest of a body is not dropped any more. */
const DISCARDED_PARTS_MAX = 16_384;

/** The reason why a body is not read to its end. */
export type StreamFailure = "too_large" | "too_many_parts" | "no_memory" | "cut_off";

/** The result of reading a body: all its bytes, or a failure. */
export type StreamedBody = { bytes: Uint8Array<ArrayBuffer> } | { failure: StreamFailure };

/** The limits of one body. */
interface StreamLimits {
  limit_bytes: number;
  /** The declared length; infinite where none is declared. */
  declared_bytes: number;
  /** The number of parts that a body may come in, however short they are. */
  parts_max: number;
  memory: StreamMemory;
}

/** The memory that a body takes. */
interface StreamMemory {
  /** Takes a number of bytes in place of those before; returns false when so many are not free. */
  hold(bytes: number): boolean;
  /** Does the same for the rest of a long body, and may wait until so many are free. */
  grow(bytes: number): Promise<boolean>;
}

/**
 * Reads a stream to its end, unless it exceeds a limit. A declared length takes no memory until bytes
 * come.
 */
export async function readStream(
  reader: ReadableStreamBYOBReader,
  { limit_bytes, declared_bytes, parts_max, memory }: StreamLimits,
): Promise<StreamedBody> {
  const most = Math.min(declared_bytes, limit_bytes);
  let buffer = new Uint8Array();
  let room = -1;
  let size = 0;
  for (let parts = 0;; parts++) {
    if (parts > parts_max + size / PART_BYTES_MIN) return { failure: "too_many_parts" };
    if (size > room) {
      room = Math.min(most, Math.max(FIRST_BYTES_MAX, GROWTH * size));
      if (size > 0 && !await memory.grow(room)) return { failure: "no_memory" };
      const larger = new Uint8Array(room + SPARE_BYTES);
      larger.set(buffer.subarray(0, size));
      buffer = larger;
    }
    const { done, value } = await reader.read(buffer.subarray(size, size + READ_BYTES_MAX));
    if (value === undefined) return { failure: "cut_off" };
    buffer = new Uint8Array(value.buffer);
    size += value.length;
    if (size > limit_bytes) return { failure: "too_large" };
    if (size <= FIRST_BYTES_MAX && !memory.hold(size)) return { failure: "no_memory" };
    if (done) return { bytes: buffer.subarray(0, size) };
  }
}

/**
 * Reads a stream and drops its bytes.
 *
 * @returns false when there are more bytes than `bytes_max`, or too many parts
 */
export async function discardStream(
  reader: ReadableStreamBYOBReader,
  bytes_max: number,
): Promise<boolean> {
  let buffer = new Uint8Array(READ_BYTES_MAX);
  let size = 0;
  for (let parts = 0; size <= bytes_max && parts <= DISCARDED_PARTS_MAX; parts++) {
    const { done, value } = await reader.read(buffer);
    if (done || value === undefined) return true;
    size += value.length;
    buffer = new Uint8Array(value.buffer);
  }
  return false;
}
