/**
 * The records of the ids of recently accepted deliveries.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import type { Write } from "../commit/change.ts";
import { removeInBatches } from "../commit/chunked.ts";
import { keys } from "../keys.ts";
import { behind, readWhole } from "../read/scan.ts";
import type { Store } from "../store.ts";

/** Deliveries that are read at a time. */
const PAGE_SIZE = 200;

/** A delivery as it is stored. */
export interface KnownDelivery {
  run_id: string;
  /** Milliseconds since the epoch, by the steady clock. */
  until_ms: number;
}

/**
 * Reads a delivery; undefined when none is stored, or its record is damaged.
 *
 * @param idHash the SHA-256 of the sender's id
 */
export async function getDelivery(
  store: Store,
  triggerId: string,
  idHash: string,
): Promise<KnownDelivery | undefined> {
  return await readWhole(store.kv, keys.delivery(triggerId, idHash), isKnown);
}

/** The write that stores a delivery. */
export function deliveryWrite(triggerId: string, idHash: string, value: KnownDelivery): Write {
  return { key: keys.delivery(triggerId, idHash), value, bytes: 256 };
}

/**
 * Removes the deliveries whose window is over, in small parts.
 *
 * @returns how many there were
 */
export async function removeEndedDeliveries(
  { store, clock, signal }: { store: Store; clock: Clock; signal: AbortSignal },
): Promise<number> {
  // One whose window is over may be accepted again at any time.
  const options = { store, signal, renewed: "delivery" };
  return await removeInBatches<Deno.KvKey>(options, async (last) => {
    const limits = { limit: PAGE_SIZE, batchSize: PAGE_SIZE };
    const page = await Array.fromAsync(store.kv.list<unknown>(behind(["delivery"], last), limits));
    const now_ms = clock.steady();
    const ended = page.filter(({ value }) => !isKnown(value) || value.until_ms <= now_ms);
    return {
      writes: ended.map(({ key }) => ({ key })),
      count: ended.length,
      next: page.length < PAGE_SIZE ? undefined : page.at(-1)?.key,
    };
  });
}

function isKnown(value: unknown): value is KnownDelivery {
  return typeof value === "object" && value !== null &&
    "run_id" in value && typeof value.run_id === "string" &&
    "until_ms" in value && typeof value.until_ms === "number";
}
