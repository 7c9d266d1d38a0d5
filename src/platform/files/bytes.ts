/**
 * Writing all bytes to a file, and reading the first bytes of a program's output.
 *
 * @module
 */

/** Writes all bytes: one write may take only some of them. */
export async function writeAll(
  target: { write(bytes: Uint8Array): Promise<number> },
  bytes: Uint8Array,
): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += await target.write(bytes.subarray(written));
  }
}

/** Writes all bytes, and blocks until it is done. */
export function writeAllSync(
  target: { writeSync(bytes: Uint8Array): number },
  bytes: Uint8Array,
): void {
  for (let written = 0; written < bytes.length;) {
    written += target.writeSync(bytes.subarray(written));
  }
}

/** Size of the one buffer that all is read into: most programs print little. */
const READ_BYTES = 8 * 1024;

/** Options of {@linkcode readFirstBytes}. */
interface FirstBytesOptions {
  /** Ends the reading when it aborts: another program may hold the stream open. */
  signal?: AbortSignal | undefined;
  /** Called for each chunk beyond those that are kept. */
  onCut?(): void;
}

/** Reads a stream to its end, and keeps its first bytes; `isCut` is true if there were more. */
export async function readFirstBytes(
  stream: ReadableStream<Uint8Array>,
  bytesMax: number,
  { signal, onCut = () => {} }: FirstBytesOptions = {},
): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  let bytes = new Uint8Array();
  let length = 0;
  const reader = chunkReader(stream);
  const cancel = () => void reader.cancel().catch(() => {});
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const kept = value.subarray(0, Math.max(0, bytesMax - length));
      bytes = withRoomFor(length + kept.length, bytes, bytesMax);
      bytes.set(kept, Math.min(length, bytesMax));
      length += value.length;
      if (length > bytesMax) onCut();
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
    reader.releaseLock();
  }
  return { bytes: bytes.subarray(0, Math.min(length, bytesMax)), isCut: length > bytesMax };
}

/**
 * Opens a reader whose chunks share one buffer, each until the next is read. By itself Deno 2.9 sets 64 KiB
 * aside for each read, also for that which finds the end.
 */
function chunkReader(
  stream: ReadableStream<Uint8Array>,
): Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel" | "releaseLock"> {
  const reader = bufferReader(stream);
  if (reader === undefined) return stream.getReader();
  let buffer = new Uint8Array(READ_BYTES);
  return {
    async read() {
      const { done, value } = await reader.read(buffer);
      if (done || value === undefined) return { done: true };
      buffer = new Uint8Array(value.buffer);
      return { done, value };
    },
    cancel: () => reader.cancel(),
    releaseLock: () => reader.releaseLock(),
  };
}

/** Opens a reader into buffers of its own; undefined for a stream of what is in memory already. */
export function bufferReader(
  stream: ReadableStream<Uint8Array>,
): ReadableStreamBYOBReader | undefined {
  try {
    return stream.getReader({ mode: "byob" });
  } catch (error) {
    // Nothing else shows the kind of a stream.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Returns a buffer that holds so many bytes, with those of the one before: at least twice its size. */
function withRoomFor(
  size: number,
  bytes: Uint8Array<ArrayBuffer>,
  bytesMax: number,
): Uint8Array<ArrayBuffer> {
  if (size <= bytes.length || bytes.length === bytesMax) return bytes;
  const larger = new Uint8Array(Math.min(bytesMax, Math.max(size, 2 * bytes.length)));
  larger.set(bytes);
  return larger;
}
