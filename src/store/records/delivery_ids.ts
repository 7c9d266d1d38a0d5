/**
 * The records of the ids of recently accepted deliveries.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import type { Write } from "../commit/change.ts";
import { ClaimMark, claimUpTo } from "../commit/claims.ts";
import { removeInBatches } from "../commit/chunked.ts";
import { keys } from "../keys.ts";
import { type FoundEntry, readValue, readWhole, scan } from "../read/scan.ts";
import type { Shared } from "../shared_store.ts";
import type { Store } from "../store.ts";

/** Deliveries that are read at a time. */
const PAGE_SIZE = 200;

/** A delivery as it is stored. */
export interface KnownDelivery {
  run_id: string;
  /** Milliseconds since the epoch, by the steady clock. */
  until_ms: number;
  /** The instance that has accepted the run, where several share the database. */
  instance?: string;
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
 * Keeps the run of a delivery from being withdrawn, where another instance has accepted it and its first sender
 * may be gone.
 *
 * @returns false when it was withdrawn meanwhile: the delivery must be read again
 */
export async function keepRun(
  { kv, shared, intake }: Store,
  key: Deno.KvKey,
  { run_id, instance }: KnownDelivery,
): Promise<boolean> {
  // An instance answers a copy of a delivery once the first sender has its answer, or is given up.
  if (shared === undefined || instance === undefined || instance === shared.id) return true;
  const read = [key, keys.claimed(instance)] as const;
  const [delivery, mark] = await kv.getMany<[unknown, string]>(read);
  if (!isKnown(delivery.value) || delivery.value.run_id !== run_id) return false;
  // An instance without a mark is gone, and withdraws nothing any more.
  if (mark.versionstamp === null) return true;
  return await claimUpTo(intake, new ClaimMark(kv, instance, mark), delivery.versionstamp ?? "");
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
  const isEnded = (value: unknown) => !isKnown(value) || value.until_ms <= clock.steady();
  return await removeInBatches<Deno.KvKey>(options, async (last) => {
    const page: FoundEntry[] = [];
    for await (
      const entry of scan(store.kv, ["delivery"], { last, batchSize: PAGE_SIZE, ids: 2 })
    ) {
      page.push(entry);
      // Before the next is asked for, which would read another batch.
      if (page.length === PAGE_SIZE) break;
    }
    const ended = page.filter(({ value }) => isEnded(value));
    const { shared } = store;
    if (shared) await removeUnderLedgers(store, shared, { ended, isEnded });
    return {
      writes: shared ? [] : ended.map(({ key }) => ({ key })),
      count: ended.length,
      next: page.length < PAGE_SIZE ? undefined : page.at(-1)?.key,
    };
  });
}

/** Removes deliveries that another instance may accept again meanwhile: its acceptance rewrites the ledger. */
async function removeUnderLedgers(
  { kv, intake }: Store,
  { ledgers }: Shared,
  { ended, isEnded }: {
    ended: readonly FoundEntry[];
    isEnded: (value: unknown) => boolean;
  },
): Promise<void> {
  const byTrigger = Map.groupBy(ended, ({ key }) => String(key[1]));
  for (const [triggerId, entries] of byTrigger) {
    const ledger = ledgers.of(triggerId);
    let epoch: number | undefined;
    let removals: Write[] = [];
    const read = async () => {
      if (!ledger.isLoaded) ledger.loaded((await kv.get(ledger.key)).versionstamp);
      epoch = ledger.epoch;
      removals = [];
      for (const { key } of entries) {
        if (isEnded(await readValue(kv, key))) removals.push({ key });
      }
    };
    await intake.commit({
      guards: [ledger],
      refresh: () => ledger.isLoaded && epoch === ledger.epoch ? undefined : read(),
      writes: () => removals,
    });
  }
}

function isKnown(value: unknown): value is KnownDelivery {
  return typeof value === "object" && value !== null &&
    "run_id" in value && typeof value.run_id === "string" &&
    "until_ms" in value && typeof value.until_ms === "number";
}
