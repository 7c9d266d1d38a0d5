/**
 * Reads the log of an ended execution from the artifact store. See `log_format.ts`.
 *
 * @module
 */
import { artifactKeys } from "../../artifacts/keys.ts";
import type { ArtifactStore } from "../../artifacts/store.ts";
import type { LogOptions, LogPage } from "../engine.ts";
import type { LogRecord } from "./log_format.ts";
import { pageOfRecords, recordsIn } from "./log_reader.ts";

/** Reads a page of a log in the artifact store. It is empty when there is none. */
export async function readArchivedLog(
  artifacts: ArtifactStore,
  executionId: string,
  options?: LogOptions,
): Promise<LogPage> {
  const recordsFrom = async function* (offset: number): AsyncGenerator<LogRecord> {
    const found = await artifacts.open(artifactKeys.log(executionId), { offset });
    if (found === undefined) return;
    const chunks = found.stream[Symbol.asyncIterator]();
    try {
      yield* recordsIn(readerOf(chunks));
    } finally {
      // A page may end before the log does.
      await chunks.return?.();
    }
  };
  return await pageOfRecords(recordsFrom, options);
}

/** Returns a function that reads chunks into buffers. */
function readerOf(
  chunks: AsyncIterator<Uint8Array>,
): (buffer: Uint8Array) => Promise<number | null> {
  let left: Uint8Array = new Uint8Array(0);
  return async (buffer) => {
    while (left.length === 0) {
      const { value, done } = await chunks.next();
      if (done) return null;
      left = value;
    }
    const count = Math.min(buffer.length, left.length);
    buffer.set(left.subarray(0, count));
    left = left.subarray(count);
    return count;
  };
}
