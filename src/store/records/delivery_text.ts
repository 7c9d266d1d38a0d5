/**
 * Looking for a text in deliveries: in their ids and in the bytes of their bodies, as they are.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { Store } from "../store.ts";
import type { CandidateDelivery } from "./delivery_sources.ts";
import { readPayload } from "./payloads.ts";

/** The part of a long body that is looked through. */
const BODY_BYTES_MAX = 256 * 1024;

/** The time that an artifact store has to answer for one body. Others are looked through all the same. */
const ANSWER_MS = 1_000;

/** Returns true when a text is a part of an id of a delivery, or of its body. */
export function hasText(
  store: Store,
  { id, delivery_id, run, kept_size = 0 }: CandidateDelivery,
  text: string,
): boolean | Promise<boolean> {
  if (id.includes(text) || delivery_id?.includes(text)) return true;
  if (run?.body !== undefined) return isIn(run.body, text);
  const size = run?.payload.size ?? kept_size;
  return size > 0 && hasTextInChunks(store, { id, size }, text);
}

async function hasTextInChunks(
  store: Store,
  { id, size }: { id: string; size: number },
  text: string,
): Promise<boolean> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of readPayload(store, id, size, undefined, ANSWER_MS)) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= BODY_BYTES_MAX) break;
    }
  } catch {
    // Damaged, no longer kept, or in a store that does not answer: what came before the damage is looked through.
  }
  return isIn(Buffer.concat(chunks), text);
}

function isIn({ buffer, byteOffset, byteLength }: Uint8Array, text: string): boolean {
  return Buffer.from(buffer, byteOffset, byteLength).includes(text);
}
