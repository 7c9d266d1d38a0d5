/**
 * Rate limits: the windows of all triggers, in memory and in the database. A window changes in the commit
 * that accepts the launch which it counts. So counted and accepted launches are the same, across restarts
 * too.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { evictOldest } from "../platform/evict_oldest.ts";
import {
  admit,
  leftOf,
  newestTime,
  type Quota,
  type QuotaLeft,
  settle,
  withoutOne,
} from "./rate_window.ts";
import type { Write } from "../store/commit/change.ts";
import type { Ledger } from "../store/commit/ledgers.ts";
import { getRateWindow, type RateWindow, rateWindowWrite } from "../store/records/rate_windows.ts";
import type { Store } from "../store/store.ts";

/** Windows in memory, where several instances count. */
const SHARED_WINDOWS_MAX = 50_000;

/** The writes that count one launch, and their undo. */
export interface Admission {
  writes: Write[];
  /** Takes the count back, when it could not be stored. */
  undo(): void;
  /** Takes the count back that is stored. */
  giveBack(): Omit<Admission, "giveBack">;
}

/** The window of a period after a launch was counted, or given back. */
interface Counted {
  period: number;
  window: RateWindow;
}

/** Counts launches. One object of this class owns the windows of a database. */
export class Quotas {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #windows = new Map<string, RateWindow | undefined>();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Reads the windows that a trigger needs and that are not in memory. */
  async load(triggerId: string, quotas: readonly Quota[]): Promise<void> {
    const ledger = this.#ledgerOf(triggerId);
    if (ledger && !ledger.isLoaded) {
      // Before the windows: a commit that changes them in between changes the ledger, too.
      ledger.loaded((await this.#store.kv.get(ledger.key)).versionstamp);
    }
    for (const { period } of quotas) {
      const name = this.#windowName(triggerId, period);
      if (this.#windows.has(name)) continue;
      const window = await getRateWindow(this.#store, triggerId, period);
      // Another launch may have read and changed it meanwhile.
      if (this.#windows.has(name)) continue;
      // The clock may have been set back since it was stored; from here on it only moves forward.
      this.#windows.set(name, ledger ? window : settle(window, period, this.#clock.steady()));
      if (ledger) evictOldest(this.#windows, SHARED_WINDOWS_MAX);
    }
  }

  /** Returns true when {@linkcode load} has nothing to do. */
  isLoaded(triggerId: string, quotas: readonly Quota[]): boolean {
    return this.#ledgerOf(triggerId)?.isLoaded !== false &&
      quotas.every(({ period }) => this.#windows.has(this.#windowName(triggerId, period)));
  }

  /** The first quota that is used up now; undefined when a launch would be admitted. */
  exhausted(triggerId: string, quotas: readonly Quota[]): Quota | undefined {
    const now_ms = this.#now(triggerId, quotas);
    return quotas.find((quota) => this.#admitted(triggerId, quota, now_ms) === undefined);
  }

  /**
   * Returns what is left of each quota now; nothing is counted. The times are those of the wall clock.
   *
   * @param quotas in any number, also several of one period
   */
  async left(triggerId: string, quotas: readonly Quota[]): Promise<QuotaLeft[]> {
    const { shared } = this.#store;
    if (shared === undefined) await this.load(triggerId, quotas);
    const windows = await Promise.all(
      quotas.map(({ period }) =>
        shared === undefined
          ? this.#windows.get(this.#windowName(triggerId, period))
          // What this instance holds may be older than what others have counted.
          : getRateWindow(this.#store, triggerId, period)
      ),
    );
    const steady_ms = this.#clock.steady();
    const newest_ms = quotas.map(({ period }, index) => newestTime(windows[index], period));
    const now_ms = shared === undefined ? steady_ms : Math.max(steady_ms, ...newest_ms);
    const ahead_ms = this.#clock.now() - steady_ms;
    return quotas.map((quota, index) => {
      const spread_ms = shared?.instances.clockSpread_ms(quota.period * 1_000);
      const { left, more_ms } = leftOf(windows[index], quota, now_ms, spread_ms);
      return { left, more_ms: more_ms && Math.ceil(more_ms + ahead_ms) };
    });
  }

  /**
   * Counts one launch in every window of the trigger, or in none.
   *
   * @returns the quota that is used up, or what to store
   */
  admit(triggerId: string, quotas: readonly Quota[]): Quota | Admission {
    const now_ms = this.#now(triggerId, quotas);
    const next: Counted[] = [];
    for (const quota of quotas) {
      const { period } = quota;
      const window = this.#admitted(triggerId, quota, now_ms);
      if (window === undefined) return quota;
      next.push({ period, window });
    }
    const giveBack = () =>
      this.#put(
        triggerId,
        next.flatMap(({ period }) => this.#withoutOne(triggerId, period, now_ms)),
      );
    return { ...this.#put(triggerId, next), giveBack };
  }

  #admitted(triggerId: string, quota: Quota, now_ms: number): RateWindow | undefined {
    const window = this.#windows.get(this.#windowName(triggerId, quota.period));
    const spread_ms = this.#store.shared?.instances.clockSpread_ms(quota.period * 1_000);
    return admit(window, quota, now_ms, spread_ms);
  }

  /** The time by which windows count. Where several instances count, it never moves back. */
  #now(triggerId: string, quotas: readonly Quota[]): number {
    const now_ms = this.#clock.steady();
    if (this.#store.shared === undefined) return now_ms;
    return quotas.reduce((latest_ms, { period }) => {
      const window = this.#windows.get(this.#windowName(triggerId, period));
      return Math.max(latest_ms, newestTime(window, period));
    }, now_ms);
  }

  #ledgerOf(triggerId: string): Ledger | undefined {
    return this.#store.shared?.ledgers.of(triggerId);
  }

  /** The name of a window: one that was read under an earlier epoch of the ledger is not found any more. */
  #windowName(triggerId: string, period_s: number): string {
    const { shared } = this.#store;
    return shared === undefined
      ? `${triggerId}/${period_s}`
      : `${triggerId}/${period_s}/${shared.ledgers.of(triggerId).epoch}`;
  }

  #withoutOne(triggerId: string, period: number, counted_ms: number): Counted[] {
    const window = this.#windows.get(this.#windowName(triggerId, period));
    return window ? [{ period, window: withoutOne(window, period, counted_ms) }] : [];
  }

  #put(triggerId: string, counted: readonly Counted[]): Omit<Admission, "giveBack"> {
    const before = counted.map(({ period, window }) => {
      const name = this.#windowName(triggerId, period);
      const replaced = this.#windows.get(name);
      this.#windows.set(name, window);
      return { name, replaced };
    });
    return {
      writes: counted.map(({ period, window }) => rateWindowWrite(triggerId, period, window)),
      undo: () => {
        for (const { name, replaced } of before) this.#windows.set(name, replaced);
      },
    };
  }
}
