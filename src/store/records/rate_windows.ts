/**
 * The windows by which rate limits count launches.
 *
 * @module
 */
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { readWhole } from "../read/scan.ts";
import type { Store } from "../store.ts";

/** The launches of one period that still count. */
export interface RateWindow {
  /** The sum of all counts. */
  readonly total: number;
  /** Slots that hold launches, in ascending order of their index: at most 51. */
  readonly slots: readonly RateSlot[];
}

/**
 * The slot from `index` to `index + 1` fiftieths of the period since the epoch, its launches, and a time after all of
 * them, in milliseconds since the epoch: without one, the slot's end.
 */
export type RateSlot = readonly [index: number, count: number, after_ms?: number];

/**
 * Reads the window of one period, in seconds; undefined when there is none. One that is damaged counts
 * nothing: that may be too little once, and is over after a period.
 */
export async function getRateWindow(
  store: Store,
  triggerId: string,
  period_s: number,
): Promise<RateWindow | undefined> {
  return await readWhole(store.kv, keys.rate(triggerId, period_s), isWindow);
}

/** The write that stores a window. Of several in one commit the last counts the launches of all. */
export function rateWindowWrite(triggerId: string, period_s: number, value: RateWindow): Write {
  // Each number takes nine bytes at most, and each list some more.
  const bytes = 64 + 32 * value.slots.length;
  const sharedAs = `${triggerId}/${period_s}`;
  return { key: keys.rate(triggerId, period_s), value, bytes, sharedAs };
}

function isWindow(value: unknown): value is RateWindow {
  return typeof value === "object" && value !== null && "total" in value && "slots" in value &&
    Number.isSafeInteger(value.total) && Array.isArray(value.slots) &&
    value.slots.every((slot) => Array.isArray(slot) && slot.every(Number.isSafeInteger));
}
