/**
 * Copies files, and computes the size and SHA-256 of the copies.
 *
 * @module
 */
import { writeAll } from "../../../platform/files/bytes.ts";
import { type HashedFile, hashFile } from "../file_hash.ts";

/** Limits of a copy. */
export interface CopyOptions {
  /** Aborted when the copy is not needed any more. */
  signal: AbortSignal;
  /** Gets the number of bytes so far. Ends the copy by throwing. */
  onBytes(total: number): void;
}

/**
 * Writes chunks into a new file.
 *
 * @throws when the file exists
 */
export async function writeNew(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  { signal, onBytes }: CopyOptions,
): Promise<HashedFile> {
  using target = await Deno.open(path, { createNew: true, write: true });
  let size = 0;
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    size += chunk.length;
    onBytes(size);
    await writeAll(target, chunk);
  }
  return await hashFile(path, { signal });
}
