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

/** A text that is looked for. */
interface Wanted {
  text: string;
  /** Returns a body as it may be searched; as it is, when absent. */
  shown: ((candidate: CandidateDelivery, body: Uint8Array) => Promise<Uint8Array>) | undefined;
}

/** Returns true when a text is a part of an id of a delivery, or of its body. */
export async function hasText(
  store: Store,
  candidate: CandidateDelivery,
  { text, shown }: Wanted,
): Promise<boolean> {
  const { id, delivery_id, run, kept_size = 0 } = candidate;
  if (id.includes(text) || delivery_id?.includes(text)) return true;
  const size = run?.payload.size ?? kept_size;
  if (size === 0) return false;
  const body = run?.body ?? await beginningOf(store, { id, size });
  // The time that a search takes tells nothing of what is hidden: it is masked before it is looked through.
  return isIn(shown === undefined ? body : await shown(candidate, body), text);
}

async function beginningOf(
  store: Store,
  { id, size }: { id: string; size: number },
): Promise<Uint8Array> {
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
  return Buffer.concat(chunks);
}

function isIn({ buffer, byteOffset, byteLength }: Uint8Array, text: string): boolean {
  return Buffer.from(buffer, byteOffset, byteLength).includes(text);
}
