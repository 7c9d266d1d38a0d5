/**
 * Reads outputs for others: nobody gets bytes that are not those which the execution has left.
 *
 * @module
 */
import { checkedChunks } from "../../artifacts/checked_content.ts";
import { ArtifactMismatchError } from "../../artifacts/store.ts";
import { ConflictError } from "../../platform/errors.ts";
import type { OutputFile } from "../../store/records/executions.ts";
import type { EngineOutput } from "../engine.ts";

/** The longest output that is compared as a whole before its first byte is sent. */
const WHOLE_BYTES_MAX = 1024 * 1024;

/**
 * Returns the bytes of an output that a record lists. A short one is compared with the record before. A longer one
 * is a stream, which fails before its last chunk when the bytes differ.
 *
 * @throws {ConflictError} when it was changed after its execution had ended
 */
export async function checkedOutput(
  listed: OutputFile,
  { size, stream }: EngineOutput,
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>> {
  if (size !== listed.size) {
    await stream.cancel();
    throw changed(listed);
  }
  const chunks = untilChanged(listed, stream);
  if (size > WHOLE_BYTES_MAX) return ReadableStream.from(allButLastUntilChecked(chunks));
  return await new Blob(await Array.fromAsync(chunks)).bytes();
}

async function* untilChanged(
  listed: OutputFile,
  stream: EngineOutput["stream"],
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  try {
    yield* checkedChunks(listed.path, stream, listed);
  } catch (error) {
    throw error instanceof ArtifactMismatchError ? changed(listed) : error;
  }
}

/** Yields each chunk when the next one has come: the last one after the comparison. */
async function* allButLastUntilChecked(
  chunks: AsyncIterable<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let held: Uint8Array<ArrayBuffer> | undefined;
  for await (const chunk of chunks) {
    if (held !== undefined) yield held;
    held = chunk;
  }
  if (held !== undefined) yield held;
}

function changed({ path }: OutputFile): ConflictError {
  return new ConflictError(`Cannot send the output "${path}": it was changed after the end`);
}
