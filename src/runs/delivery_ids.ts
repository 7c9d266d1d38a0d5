/**
 * Deduplication. A sender that did not get the answer sends its delivery again, and must get the first run's
 * answer instead of a second run. The delivery's id is stored by the commit that accepts the run. So a
 * refused delivery is not remembered, and an accepted one is still known after a restart. One whose run could
 * launch nothing is accepted again.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Clock } from "../platform/clock.ts";
import type { Write } from "../store/commit/change.ts";
import { asUnavailable } from "../store/commit/committer.ts";
import { CLOCK_SPREAD_MAX_MS } from "../store/commit/instance_limits.ts";
import {
  deliveryWrite,
  getDelivery,
  keepRun,
  type KnownDelivery,
} from "../store/records/delivery_ids.ts";
import { keys } from "../store/keys.ts";
import { shownId } from "../store/records/trigger_log_entries.ts";
import { getRun } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";

/** The id of a delivery. */
export interface Delivery {
  /** Tells it from all others. */
  id: string;
  /** As the sender names it, where that is only a part of the id. */
  shown?: string;
  /** For how long a repeat is recognised, in seconds. */
  window_s: number;
  /** It is a credential, or made of one. */
  isSecret?: true;
}

/** Returns the id of a delivery as it is kept with its run and in the log. */
export function keptId({ id, shown = id, isSecret }: Delivery): string {
  return isSecret ? "********" : shownId(shown);
}

/** The right to accept a delivery. Copies that come meanwhile wait until it is settled. */
export interface Claim {
  /** The run that another instance has made of it; known after a refresh. */
  readonly madeBy: string | undefined;
  /** Reads the delivery again if another instance may have stored it; undefined when none has. */
  refresh(): Promise<void> | undefined;
  /** Returns the writes that store the delivery as the one that made this run. */
  writes(runId: string): Write[];
  /** Returns the writes that remove it again, where it is stored as the one that made this run. */
  withdrawWrites(runId: string): Write[];
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

  /** The run that a delivery has made before; undefined when it would be accepted now. */
  async madeBy(triggerId: string, { id }: Delivery): Promise<string | undefined> {
    return (await this.#known(triggerId, hash("sha256", id)))?.run_id;
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
      const ledger = this.#store.shared?.ledgers.of(triggerId);
      let epoch = ledger?.epoch;
      if (ledger?.isLoaded === false) {
        ledger.loaded((await this.#store.kv.get(ledger.key)).versionstamp);
      }
      const key = keys.delivery(triggerId, idHash);
      let known = await this.#known(triggerId, idHash);
      while (known !== undefined && !await keepRun(this.#store, key, known)) {
        known = await this.#known(triggerId, idHash);
      }
      if (known !== undefined) {
        settle(known.run_id);
        return { repeatOf: known.run_id };
      }
      const refresh = () => {
        if (ledger === undefined || epoch === ledger.epoch && ledger.isLoaded) return undefined;
        const now = ledger.epoch;
        return this.#known(triggerId, idHash).then((found) => {
          epoch = now;
          known = found;
        });
      };
      return {
        writes: (runId) => [this.#write(triggerId, idHash, { runId, delivery })],
        // Another instance may have accepted it again, once its window was over.
        withdrawWrites: (runId) => (known?.run_id ?? runId) === runId ? [{ key }] : [],
        settle,
        refresh,
        get madeBy() {
          return known?.run_id;
        },
      };
    } catch (error) {
      settle(undefined);
      throw asUnavailable(error);
    }
  }

  #write(
    triggerId: string,
    idHash: string,
    { runId: run_id, delivery }: { runId: string; delivery: Delivery },
  ): Write {
    const { shared } = this.#store;
    // An instance that joins later may have any clock that is allowed.
    const spread_ms = shared ? CLOCK_SPREAD_MAX_MS : 0;
    const until_ms = Math.ceil(this.#clock.steady() + delivery.window_s * 1_000 + spread_ms);
    const instance = shared && { instance: shared.id };
    return deliveryWrite(triggerId, idHash, { run_id, until_ms, ...instance });
  }

  async #known(triggerId: string, idHash: string): Promise<KnownDelivery | undefined> {
    const known = await getDelivery(this.#store, triggerId, idHash);
    // Whoever repeats a delivery is answered by what is stored, without a commit.
    if (known !== undefined) this.#store.guard?.expectIntact();
    if (known === undefined || known.until_ms <= this.#clock.steady()) return undefined;
    // Where none of its actions could launch, its sender repairs that by sending it again.
    const run = await getRun(this.#store, known.run_id);
    return run?.status === "error" ? undefined : known;
  }
}
