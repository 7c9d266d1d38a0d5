/**
 * Payloads: the bytes of accepted requests. A small one lies in the record of its run, a larger one in
 * chunks of its own. Where there are many of these, they are written before the commit that accepts the
 * run, which then makes them visible. Chunks whose run was never accepted are found by their upload mark
 * and swept. Where all instances share an artifact store, such long payloads are there instead.
 *
 * @module
 */
import { createHash, hash } from "node:crypto";
import { idTime } from "../../platform/ids.ts";
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { isStored, readFirst, readValue, scan } from "../read/scan.ts";
import type { Store } from "../store.ts";
import {
  CorruptPayloadError,
  putPayloadArtifact,
  readPayloadArtifact,
  removePayloadArtifact,
} from "./payload_artifacts.ts";

export { CorruptPayloadError } from "./payload_artifacts.ts";

/** The size of a chunk. A value of Deno KV holds 64 KiB. */
export const CHUNK_BYTES = 60 * 1024;
const CHUNKS_PER_COMMIT = 8;
/**
 * So many commits of one payload wait at once. With one, 32 uploads of 1 MiB all end at the same time, and
 * the database has nothing to do until their senders have sent the next; with all, what comes behind a
 * payload of 64 MiB waits for a quarter of a second.
 */
const COMMITS_AT_ONCE = 4;
/** Longer payloads have chunks. Whoever reads or lists runs reads what lies in their records along. */
const IN_RECORD_BYTES_MAX = 4 * 1024;
/** Longer payloads are written before the commit that accepts their run. */
const INLINE_BYTES_MAX = 2 * CHUNK_BYTES;

/** The description of a payload; part of its run's record. */
export interface PayloadInfo {
  /** Bytes. */
  size: number;
  sha256: string;
  /** The Content-Type header as sent; absent when there was none. */
  content_type?: string;
  /** The time at which its retention has removed it, RFC 3339. */
  removed_at?: string;
}

/** A payload as its run's record is to hold it; undefined where it is to have chunks. */
export function bodyForRecord(body: Uint8Array): Uint8Array | undefined {
  if (body.length === 0 || body.length > IN_RECORD_BYTES_MAX) return undefined;
  // All that a view looks at a part of would be stored.
  return body.length === body.buffer.byteLength ? body : body.slice();
}

/** Returns true when a payload of this size is uploaded before its run is accepted. */
export function needsUpload(size: number): boolean {
  return size > INLINE_BYTES_MAX;
}

/** Returns the number of chunks of a payload of this size. */
export function chunkCount(size: number): number {
  return Math.ceil(size / CHUNK_BYTES);
}

/**
 * Stores a large payload, under a mark that says that its run is not accepted yet.
 *
 * @throws {UnavailableError} when it cannot be stored
 */
export async function uploadPayload(
  store: Store,
  runId: string,
  body: Uint8Array,
  sha256 = hash("sha256", body),
): Promise<void> {
  // With each part: any of them may be the only one that is stored.
  const mark = { key: keys.upload(runId), value: true, sharedAs: `upload of ${runId}` };
  if (store.artifacts !== undefined) {
    await store.intake.write([mark]);
    return await putPayloadArtifact(store.artifacts, runId, body, {
      size: body.length,
      sha256,
    });
  }
  const chunks = chunkWrites(runId, body);
  const stored: Promise<void>[] = [];
  try {
    for (let start = 0; start < chunks.length; start += CHUNKS_PER_COMMIT) {
      const part = chunks.slice(start, start + CHUNKS_PER_COMMIT);
      stored.push(store.intake.write([mark, ...part]));
      await stored.at(-COMMITS_AT_ONCE);
    }
    await Promise.all(stored);
  } finally {
    // What is removed after a failure must not be joined by a part that is stored later.
    await Promise.allSettled(stored);
  }
}

/** The writes that belong into the commit which accepts the run of a payload that has chunks. */
export function payloadWrites(runId: string, body: Uint8Array): Write[] {
  if (body.length === 0) return [];
  if (needsUpload(body.length)) return [{ key: keys.upload(runId) }];
  return chunkWrites(runId, body);
}

function chunkWrites(runId: string, body: Uint8Array): Write[] {
  return Array.from({ length: chunkCount(body.length) }, (_, index) => ({
    key: keys.payload(runId, index),
    value: body.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
  }));
}

/** Stores the body of a request that made no run, by the id of its entry. */
export async function putKeptBody(store: Store, entryId: string, body: Uint8Array): Promise<void> {
  const chunks = chunkWrites(entryId, body);
  for (let start = 0; start < chunks.length; start += CHUNKS_PER_COMMIT) {
    await store.intake.write(chunks.slice(start, start + CHUNKS_PER_COMMIT));
  }
}

/** The writes that remove a payload. */
export function removePayloadWrites(runId: string, size: number): Write[] {
  return Array.from(
    { length: chunkCount(size) },
    (_, index) => ({ key: keys.payload(runId, index) }),
  );
}

/**
 * Reads a payload, chunk by chunk if it has any.
 *
 * @param sha256 what the bytes must hash to, in hex; the last chunk comes only when they do
 * @param within_ms the time that an artifact store has to answer. Default: its own
 * @throws {UnavailableError} when an artifact store has the payload and does not answer
 * @throws {CorruptPayloadError} when a chunk is missing or has a wrong size, or the bytes are others
 */
export async function* readPayload(
  store: Store,
  runId: string,
  size: number,
  sha256?: string,
  within_ms?: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { artifacts, kv } = store;
  // What was accepted before there was an artifact store is in the database.
  if (artifacts && needsUpload(size) && !await isStored(kv, keys.payload(runId, 0))) {
    return yield* readPayloadArtifact(artifacts, runId, { size, sha256, within_ms });
  }
  const digest = createHash("sha256");
  const chunks = chunkCount(size);
  for (let index = 0; index < chunks; index++) {
    const value = await readChunk(store, runId, { index, isOnly: chunks === 1 });
    const expected = Math.min(CHUNK_BYTES, size - index * CHUNK_BYTES);
    if (!isBytes(value) || value.length !== expected) {
      throw new CorruptPayloadError(
        `Cannot read the payload of run ${runId}: chunk ${index} should have ${expected} bytes, ` +
          `found ${isBytes(value) ? value.length : "none"}`,
      );
    }
    if (sha256 !== undefined) {
      digest.update(value);
      if (index === chunks - 1 && digest.digest("hex") !== sha256) {
        throw new CorruptPayloadError(
          `Cannot read the payload of run ${runId}: its bytes are not those that came`,
        );
      }
    }
    yield value;
  }
}

/**
 * Reads all of a payload.
 *
 * @throws {UnavailableError} when an artifact store has the payload and does not answer
 * @throws {CorruptPayloadError} when it is not what came
 */
export async function readWholePayload(
  store: Store,
  runId: string,
  { size, sha256 }: { size: number; sha256: string },
): Promise<Uint8Array<ArrayBuffer>> {
  const body = new Uint8Array(size);
  let offset = 0;
  for await (const chunk of readPayload(store, runId, size, sha256)) {
    body.set(chunk, offset);
    offset += chunk.length;
  }
  return body;
}

async function readChunk(
  store: Store,
  runId: string,
  { index, isOnly }: { index: number; isOnly: boolean },
): Promise<unknown> {
  const inRecord = isOnly ? await readFromRecord(store, runId) : undefined;
  return inRecord ?? await readValue(store.kv, keys.payload(runId, index));
}

/** The payload that lies in its run's record, if one does. */
async function readFromRecord(store: Store, runId: string): Promise<unknown> {
  const ended = () => readValue(store.kv, keys.run(runId));
  const pending = () => readFirst(store.kv, ["pending", runId]);
  const held = () => readFirst(store.kv, ["held", runId]);
  // It may be moved between two looks.
  for (const read of [ended, pending, held, pending, ended]) {
    const record = await read();
    if (typeof record !== "object" || record === null) continue;
    return "body" in record ? record.body : undefined;
  }
  return undefined;
}

/** Returns the bytes of a payload's chunks, for a run whose record does not hold its size. */
export async function storedSize(store: Store, runId: string): Promise<number> {
  let index = 0;
  while (await readValue(store.kv, keys.payload(runId, index)) !== null) index++;
  return index * CHUNK_BYTES;
}

/** Deno KV gives back a Uint8Array of its own, never a view of shared memory. */
function isBytes(value: unknown): value is Uint8Array<ArrayBuffer> {
  return value instanceof Uint8Array;
}

/**
 * Removes the payloads of runs from the artifact store. Returns the runs whose payloads are not there any more.
 *
 * @param onFailure told of each one that cannot be removed now
 */
export async function removeArtifactsOf<T extends { id: string; payload: { size: number } }>(
  { artifacts }: Store,
  runs: readonly T[],
  onFailure: (run: T, error: unknown) => void,
): Promise<T[]> {
  if (artifacts === undefined) return [...runs];
  const removed: T[] = [];
  for (const run of runs) {
    try {
      if (needsUpload(run.payload.size)) await removePayloadArtifact(artifacts, run.id);
      removed.push(run);
    } catch (error) {
      onFailure(run, error);
    }
  }
  return removed;
}

/** The runs whose upload began before `before_ms` and was never accepted. */
export async function abandonedUploads(store: Store, before_ms: number): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of scan(store.kv, ["upload"])) {
    const runId = String(key[1]);
    if (idTime(runId) >= before_ms) break;
    found.push(runId);
  }
  return found;
}

/** Removes the chunks of an upload and its mark, unless its run was accepted. */
export async function removeUpload(store: Store, runId: string): Promise<void> {
  // Acceptance takes the mark away: without it, these are the bytes of a run.
  if (!await isStored(store.kv, keys.upload(runId))) return;
  if (store.artifacts) await removePayloadArtifact(store.artifacts, runId);
  const writes: Write[] = [];
  for await (const { key } of scan(store.kv, ["payload", runId])) writes.push({ key });
  await store.intake.writeInParts([...writes, { key: keys.upload(runId) }]);
}
