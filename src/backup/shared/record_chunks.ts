/**
 * Records of a database as chunks of bytes: a file of an archive each, so that whoever writes or reads one holds
 * little in memory.
 *
 * @module
 */
import { deserialize, serialize } from "node:v8";
import { joinedBytes } from "../../platform/joined_bytes.ts";
import { DamagedBackupError } from "../error.ts";

const CHUNK_BYTES = 1024 * 1024;
/** The longest chunk: the last record of one may begin just before its end. */
export const CHUNK_BYTES_MAX = CHUNK_BYTES + 256 * 1024;
const LENGTH_BYTES = 4;

/** A record of the database. */
export interface StoredRecord {
  key: Deno.KvKey;
  value: unknown;
}

/** A record of a chunk. */
interface ChunkRecord extends StoredRecord {
  /** The length of key and value in the chunk. */
  bytes: number;
}

/** Puts records together to chunks. */
export class ChunkBuilder {
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #records = 0;

  /** The number of records so far. */
  get records(): number {
    return this.#records;
  }

  /** Adds a record. Returns a chunk when one is full. */
  add({ key, value }: StoredRecord): Uint8Array<ArrayBuffer> | undefined {
    const text = serialize([key, value]);
    const length = new Uint8Array(LENGTH_BYTES);
    new DataView(length.buffer).setUint32(0, text.length);
    this.#parts.push(length, text);
    this.#bytes += LENGTH_BYTES + text.length;
    this.#records++;
    return this.#bytes < CHUNK_BYTES ? undefined : this.take();
  }

  /** Takes what there is as a chunk; undefined when there is nothing. */
  take(): Uint8Array<ArrayBuffer> | undefined {
    if (this.#bytes === 0) return undefined;
    const chunk = joinedBytes(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    return chunk;
  }
}

/**
 * Reads the records of a chunk.
 *
 * @throws {DamagedBackupError} when it is none
 */
export function* recordsIn(chunk: Uint8Array<ArrayBuffer>): Generator<ChunkRecord> {
  const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  for (let offset = 0; offset < chunk.length;) {
    if (offset + LENGTH_BYTES > chunk.length) throw cutOff();
    const bytes = view.getUint32(offset);
    offset += LENGTH_BYTES;
    if (offset + bytes > chunk.length) throw cutOff();
    yield { ...recordIn(chunk.subarray(offset, offset + bytes)), bytes };
    offset += bytes;
  }
}

function recordIn(text: Uint8Array): StoredRecord {
  let found: unknown;
  try {
    found = deserialize(text);
  } catch {
    found = undefined;
  }
  if (Array.isArray(found) && found.length === 2 && isKey(found[0])) {
    return { key: found[0], value: found[1] };
  }
  throw new DamagedBackupError(
    "Cannot restore this backup, it is damaged: a record cannot be read",
  );
}

function isKey(found: unknown): found is Deno.KvKey {
  return Array.isArray(found) && found.length > 0 &&
    found.every((part) =>
      ["string", "number", "bigint", "boolean"].includes(typeof part) || part instanceof Uint8Array
    );
}

function cutOff(): DamagedBackupError {
  return new DamagedBackupError("Cannot restore this backup, it is damaged: a record is cut off");
}
