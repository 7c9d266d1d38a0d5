/**
 * Deliveries that were accepted lately: a sender that did not see our answer sends again, and must
 * get the first run's answer instead of a second run. What is remembered is part of the commit that
 * accepts the run, so a delivery that was refused is not remembered, and one that was accepted is
 * still known after a restart.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { Write } from "../store/committer.ts";
import { removeInParts } from "../store/in_parts.ts";
import { keys } from "../store/keys.ts";
import { behind, logDamage, readValue } from "../store/reading.ts";
import type { Store } from "../store/store.ts";

/** How many deliveries are read at a time. */
const PAGE_SIZE = 200;

/** What tells one delivery from another. */
export interface Delivery {
  /** As the sender names it. */
  id: string;
  /** For how long a repeat is recognised, in seconds. */
  window_s: number;
}

/** A delivery as it is stored. */
export interface KnownDelivery {
  run_id: string;
  /** Milliseconds since the epoch, by the steady clock. */
  until_ms: number;
}

/** The right to accept a delivery. Copies that come meanwhile wait until it is settled. */
export interface Claim {
  /** What remembers the delivery as the one that made this run. */
  writes(runId: string): Write[];
  /** Ends the claim: with the run that was accepted, or with undefined when none was. */
  settle(runId: string | undefined): void;
}

/** Recognises repeats. One object of this class owns the deliveries of a database. */
export class Deliveries {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #underWay = new Map<string, Promise<string | undefined>>();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Claims a delivery, or answers the run that it has made before. */
  async claim(triggerId: string, delivery: Delivery): Promise<Claim | { repeatOf: string }> {
    const idHash = hash("sha256", delivery.id);
    const name = `${triggerId}/${idHash}`;
    for (;;) {
      const other = this.#underWay.get(name);
      if (other === undefined) break;
      const repeatOf = await other;
      if (repeatOf !== undefined) return { repeatOf };
    }
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.#underWay.set(name, promise);
    const settle = (runId: string | undefined) => {
      this.#underWay.delete(name);
      resolve(runId);
    };
    try {
      const key = keys.delivery(triggerId, idHash);
      const known = await knownDelivery(this.#store, key);
      if (known !== undefined && known.until_ms > this.#clock.steady()) {
        settle(known.run_id);
        return { repeatOf: known.run_id };
      }
      return { writes: (runId) => [this.#write(key, runId, delivery.window_s)], settle };
    } catch (error) {
      settle(undefined);
      throw error;
    }
  }

  #write(key: Deno.KvKey, run_id: string, window_s: number): Write {
    const until_ms = Math.ceil(this.#clock.steady() + window_s * 1_000);
    const value: KnownDelivery = { run_id, until_ms };
    return { key, value, bytes: 256 };
  }
}

/**
 * Removes the deliveries whose window is over, in small parts.
 *
 * @returns how many there were
 */
export async function removeEndedDeliveries(
  { store, clock, signal }: { store: Store; clock: Clock; signal: AbortSignal },
): Promise<number> {
  // One whose window is over may be accepted anew at any time.
  const options = { store, signal, renewed: "delivery" };
  return await removeInParts<Deno.KvKey>(options, async (last) => {
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

async function knownDelivery(store: Store, key: Deno.KvKey): Promise<KnownDelivery | undefined> {
  const value = await readValue(store.kv, key);
  if (value === null) return undefined;
  if (isKnown(value)) return value;
  logDamage(key);
  return undefined;
}

function isKnown(value: unknown): value is KnownDelivery {
  return typeof value === "object" && value !== null &&
    "run_id" in value && typeof value.run_id === "string" &&
    "until_ms" in value && typeof value.until_ms === "number";
}
