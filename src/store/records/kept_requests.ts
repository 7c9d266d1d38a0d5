/**
 * The records of requests that made no run and that are kept as they came: what identifies and limits each,
 * its encrypted head, and its body in chunks.
 *
 * @module
 */
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { readValue, readWhole, scan, whole } from "../read/scan.ts";
import type { Store } from "../store.ts";
import { putKeptBody, readWholePayload, removePayloadWrites } from "./payloads.ts";

/** A kept request without its head and its body. */
export interface KeptIndex {
  /** The time at which it is removed, in milliseconds since the epoch. */
  until_ms: number;
  /** Bytes of its body. */
  size: number;
  /** SHA-256 of its body, in hex. */
  sha256: string;
  /** JSON Pointers to the fields of its body that carry credentials. Absent in records of earlier versions. */
  masked?: readonly string[];
}

/** The trigger, and the entry of its log, that a kept request belongs to. */
export interface KeptPlace {
  triggerId: string;
  entryId: string;
}

/** A kept request, its head still encrypted. */
interface StoredRequest extends KeptIndex {
  /** Encrypted. */
  head: string;
  body: Uint8Array<ArrayBuffer>;
}

/** The longest body that is kept. */
export const KEPT_BODY_BYTES_MAX = 1024 * 1024;
/** Limit of an encrypted head, in characters. A value of Deno KV holds 64 KiB. */
export const KEPT_HEAD_LENGTH_MAX = 60 * 1024;
/** The bytes that the head counts for. They bound the number of the requests that are kept. */
const HEAD_BYTES = 16 * 1024;
/** Requests that are read at a time. */
const BATCH_SIZE = 500;

/**
 * Stores a kept request. Its index comes first: a crash in between leaves nothing that cannot be found.
 *
 * @throws {UnavailableError} when it cannot be stored now
 */
export async function putKept(
  store: Store,
  { triggerId, entryId }: KeptPlace,
  { head, body, ...index }: KeptIndex & { head: string; body: Uint8Array },
): Promise<void> {
  await store.intake.write([
    { key: keys.kept(triggerId, entryId), value: index },
    headWrite(entryId, head),
  ]);
  await putKeptBody(store, entryId, body);
  // A removal that came before its body has left that.
  if (await getKeptIndex(store, { triggerId, entryId }) === undefined) {
    await store.intake.write(removePayloadWrites(entryId, body.length));
  }
}

/** The write that stores an encrypted head. */
export function headWrite(entryId: string, head: string): Write {
  return { key: keys.keptHead(entryId), value: head, bytes: head.length + 256 };
}

/** Reads a kept request; undefined when none is kept under this id, or not all of it is there. */
export async function getKept(
  store: Store,
  place: KeptPlace,
): Promise<StoredRequest | undefined> {
  const { entryId } = place;
  const index = await getKeptIndex(store, place);
  const head = index && await readValue(store.kv, keys.keptHead(entryId));
  if (index === undefined || typeof head !== "string") return undefined;
  // One that is being stored or removed, or is damaged: nothing could be done with a part of it.
  const body = await readWholePayload(store, entryId, index).catch(() => undefined);
  return body && { ...index, head, body };
}

/** All kept requests, those of a trigger together, oldest first. */
export async function* keptRequests(
  store: Store,
): AsyncGenerator<KeptPlace & { index: KeptIndex | undefined }> {
  for await (const entry of scan(store.kv, ["kept"], { ids: 2, batchSize: BATCH_SIZE })) {
    yield { ...placeIn(entry.key), index: whole(entry, isIndex) };
  }
}

/** Reads what identifies a kept request; undefined when none is kept under this id. */
export async function getKeptIndex(
  store: Store,
  { triggerId, entryId }: KeptPlace,
): Promise<KeptIndex | undefined> {
  return await readWhole(store.kv, keys.kept(triggerId, entryId), isIndex);
}

/** Reads the encrypted head of a kept request; undefined when there is none. */
export async function getHead(store: Store, entryId: string): Promise<string | undefined> {
  const head = await readValue(store.kv, keys.keptHead(entryId));
  return typeof head === "string" ? head : undefined;
}

/** The writes that remove a kept request. */
export function removeKeptWrites(
  { triggerId, entryId }: KeptPlace,
  { size }: Pick<KeptIndex, "size">,
): Write[] {
  return [
    ...removePayloadWrites(entryId, size),
    { key: keys.keptHead(entryId) },
    { key: keys.kept(triggerId, entryId) },
  ];
}

/** Removes all that is kept of a trigger. */
export async function removeKeptOf(store: Store, triggerId: string): Promise<void> {
  const writes: Write[] = [];
  for await (const { key, value } of scan(store.kv, ["kept", triggerId])) {
    // A damaged one does not tell its size: no kept body has more chunks.
    const index = isIndex(value) ? value : { size: KEPT_BODY_BYTES_MAX };
    writes.push(...removeKeptWrites(placeIn(key), index));
  }
  await store.committer.writeInParts(writes);
}

/** Returns the bytes that a kept request takes in the database, at least. */
export function keptBytes({ size }: Pick<KeptIndex, "size">): number {
  return size + HEAD_BYTES;
}

function placeIn(key: Deno.KvKey): KeptPlace {
  return { triggerId: String(key[1]), entryId: String(key[2]) };
}

function isIndex(value: unknown): value is KeptIndex {
  const { until_ms, size, sha256, masked = [] } = Object(value);
  return Array.isArray(masked) && typeof until_ms === "number" && Number.isSafeInteger(size) &&
    size >= 0 &&
    size <= KEPT_BODY_BYTES_MAX && typeof sha256 === "string";
}
