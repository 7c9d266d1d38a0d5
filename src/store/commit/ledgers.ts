/**
 * The ledgers of triggers with quotas or deduplication, where several instances share the database. Each
 * acceptance of such a trigger checks and rewrites its ledger. So windows and deliveries that were read
 * with the ledger are still as they were when the acceptance is stored.
 *
 * @module
 */
import { evictOldest } from "../../platform/evict_oldest.ts";
import type { Guard } from "./change.ts";
import { keys } from "../keys.ts";

/** Ledgers that are kept in memory. One that is not is read again. */
const LEDGERS_MAX = 20_000;

/** Number of epochs of all ledgers: none comes twice. */
let epochs = 0;

/** The ledger of one trigger, as it was read or written last. */
export class Ledger implements Guard {
  readonly key: Deno.KvKey;
  readonly value = true;
  #versionstamp: string | null = null;
  #isLoaded = false;
  #epoch = ++epochs;

  constructor(triggerId: string) {
    this.key = keys.ledger(triggerId);
  }

  get versionstamp(): string | null {
    return this.#versionstamp;
  }

  /**
   * Changes when another instance has rewritten the ledger. What was read under an earlier epoch may have
   * changed.
   */
  get epoch(): number {
    return this.#epoch;
  }

  /** True when the ledger is as it was read, as far as this instance knows. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Notes that it was read. Windows and deliveries must be read later, or in the same snapshot. */
  loaded(versionstamp: string | null): void {
    if (this.#isLoaded) return;
    this.#versionstamp = versionstamp;
    this.#isLoaded = true;
  }

  stored(versionstamp: string): void {
    this.#versionstamp = versionstamp;
  }

  invalidate(): void {
    this.#isLoaded = false;
    this.#epoch = ++epochs;
  }
}

/** The ledgers of a database. */
export class Ledgers {
  readonly #ledgers = new Map<string, Ledger>();

  /** Returns the ledger of a trigger. */
  of(triggerId: string): Ledger {
    let ledger = this.#ledgers.get(triggerId);
    if (ledger === undefined) {
      this.#ledgers.set(triggerId, ledger = new Ledger(triggerId));
      evictOldest(this.#ledgers, LEDGERS_MAX);
    }
    return ledger;
  }
}
