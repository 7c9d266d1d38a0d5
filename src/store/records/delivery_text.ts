/**
 * Looking for a text in deliveries: in their ids and in the bytes of their bodies, as they are.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { Store } from "../store.ts";
import type { CandidateDelivery } from "./delivery_sources.ts";
import { readPayload } from "./payloads.ts";
import type { EndedRun } from "./runs.ts";

/** The part of a long body that is looked through. */
const BODY_BYTES_MAX = 256 * 1024;

/** Returns true when a text is a part of an id of a delivery, or of its body. */
export function hasText(
  store: Store,
  { id, delivery_id, run }: CandidateDelivery,
  text: string,
): boolean | Promise<boolean> {
  if (id.includes(text) || delivery_id?.includes(text)) return true;
  if (run === undefined || run.payload.size === 0) return false;
  return run.body === undefined ? hasTextInChunks(store, run, text) : isIn(run.body, text);
}

async function hasTextInChunks(
  store: Store,
  { id, payload }: EndedRun,
  text: string,
): Promise<boolean> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of readPayload(store, id, payload.size)) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= BODY_BYTES_MAX) break;
    }
  } catch {
    // A damaged payload: what came before the damage is looked through.
  }
  return isIn(Buffer.concat(chunks), text);
}

function isIn({ buffer, byteOffset, byteLength }: Uint8Array, text: string): boolean {
  return Buffer.from(buffer, byteOffset, byteLength).includes(text);
}
