/**
 * Copying a file while counting and hashing what it holds.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { writeAll } from "../../../platform/files/bytes.ts";

const BUFFER_BYTES = 256 * 1024;

/** What was copied. */
export interface Copied {
  /** Bytes. */
  size: number;
  sha256: string;
}

/** How a copy is watched. */
export interface CopyOptions {
  /** Aborted when the copy is not wanted any more. */
  signal: AbortSignal;
  /** Told how many bytes there are so far; what it throws ends the copy. */
  onBytes(total: number): void;
}

/** Writes what is left of an open file into a new one. */
export async function checkedCopy(
  source: Deno.FsFile,
  path: string,
  options: CopyOptions,
): Promise<Copied> {
  return await writeNew(path, chunksOf(source), options);
}

/**
 * Writes chunks into a new file.
 *
 * @throws when there is a file of this path
 */
export async function writeNew(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  { signal, onBytes }: CopyOptions,
): Promise<Copied> {
  using target = await Deno.open(path, { createNew: true, write: true });
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    size += chunk.length;
    onBytes(size);
    hash.update(chunk);
    await writeAll(target, chunk);
  }
  signal.throwIfAborted();
  return { size, sha256: hash.digest("hex") };
}

/**
 * Reads a file, unless the signal is aborted, and says what a copy of it would be.
 *
 * @param bytesMax of a file that is longer, as one that grows still, little more is read: its size is
 * above this then
 */
export async function hashFile(
  path: string,
  { signal, bytesMax = Infinity }: { signal?: AbortSignal; bytesMax?: number },
): Promise<Copied> {
  using file = await Deno.open(path, { read: true });
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of chunksOf(file)) {
    signal?.throwIfAborted();
    hash.update(chunk);
    size += chunk.length;
    if (size > bytesMax) break;
  }
  return { size, sha256: hash.digest("hex") };
}

/** Each chunk is valid until the next is asked for. */
async function* chunksOf(file: Deno.FsFile): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(BUFFER_BYTES);
  for (;;) {
    const count = await file.read(buffer);
    if (count === null) return;
    yield buffer.subarray(0, count);
  }
}
