/**
 * How a worker shows that it is alive.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../clock.ts";
import type { Write } from "../store/committer.ts";
import { keys } from "../store/keys.ts";
import { readValue, scan } from "../store/reading.ts";
import type { WorkerLease } from "../store/runs.ts";
import type { Store } from "../store/store.ts";

/** How long a worker is taken to be alive after its last sign of life. */
const LEASE_MS = 60_000;
const HEARTBEAT_MS = 20_000;

const log = getLogger(["hooklaunch", "runs"]);

/** The lease of one worker, by which others leave its pending runs to it. */
export class Lease {
  readonly #workerId: string;
  readonly #store: Store;
  readonly #clock: Clock;
  #heartbeat: ReturnType<typeof setInterval> | undefined;

  constructor(workerId: string, { store, clock }: { store: Store; clock: Clock }) {
    this.#workerId = workerId;
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Takes the lease and renews it until it is let go. The data folder is this process's alone, so
   * whoever left a lease here is gone.
   */
  async take(): Promise<void> {
    await this.#removeOthers();
    await this.#showAlive();
    this.#heartbeat = setInterval(() => void this.#showAlive(), HEARTBEAT_MS);
  }

  /** Renews it no more. */
  letGo(): void {
    clearInterval(this.#heartbeat);
  }

  /** Whether a worker has shown itself alive lately. */
  async isAlive(workerId: string): Promise<boolean> {
    const lease = await readValue(this.#store.kv, keys.worker(workerId));
    return isLease(lease) && lease.until_ms > this.#clock.now();
  }

  async #removeOthers(): Promise<void> {
    const { kv, committer } = this.#store;
    const leases: Write[] = [];
    for await (const { key } of scan(kv, ["worker"])) leases.push({ key });
    // On a full disk they stay, and what they hold is taken over when they have run out.
    await committer.write(leases)
      .catch((error) => log.error("Cannot remove the leases: {error}", { error }));
  }

  async #showAlive(): Promise<void> {
    const value: WorkerLease = { until_ms: this.#clock.now() + LEASE_MS };
    await this.#store.committer.write([{ key: keys.worker(this.#workerId), value }])
      .catch((error) => log.error("Cannot renew the lease: {error}", { error }));
  }
}

function isLease(value: unknown): value is WorkerLease {
  return typeof value === "object" && value !== null && "until_ms" in value &&
    typeof value.until_ms === "number";
}
