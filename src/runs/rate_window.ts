/**
 * The sliding window that counts launches for rate limits.
 *
 * It counts by slots of a fiftieth of the period. A launch counts until a whole period has gone by
 * since the end of its slot. So no span of `period` seconds, wherever it begins, holds more than
 * `quota` launches, and what a launch used comes back no later than 1.02 periods after it.
 *
 * @module
 */
import type { RateSlot, RateWindow } from "../store/records/rate_windows.ts";

const SLOTS_PER_PERIOD = 50;

/** At most `quota` launches in any span of `period` seconds. */
export interface Quota {
  period: number;
  quota: number;
}

/** A window without launches. */
export const emptyWindow: RateWindow = { total: 0, slots: [] };

/**
 * Counts one launch, if the limit has room for it.
 *
 * @param window what was counted so far in the same period; undefined for nothing
 * @param now_ms milliseconds since the epoch
 * @param spread_ms how far the clocks of those that count are apart: a launch counts so much longer
 * @returns the window with this launch in it, or undefined when the quota is used up
 */
export function admit(
  window: RateWindow | undefined,
  limit: Quota,
  now_ms: number,
  spread_ms = 0,
): RateWindow | undefined {
  const { slots, total } = settle(window, limit.period, now_ms, spread_ms);
  if (total >= limit.quota) return undefined;
  const current = slotAt(now_ms, limit.period);
  const newest = slots.at(-1);
  return {
    total: total + 1,
    slots: newest?.[0] === current
      ? slots.with(-1, [current, newest[1] + 1])
      : [...slots, [current, 1]],
  };
}

/** The launches that a quota lets pass now. */
export interface QuotaLeft {
  left: number;
  /** The time at which there is more, in milliseconds since the epoch; undefined when all of it is left. */
  more_ms: number | undefined;
}

/**
 * Returns how many launches {@linkcode admit} would count one after the other, and when there are more. The
 * parameters are the same.
 */
export function leftOf(
  window: RateWindow | undefined,
  { period, quota }: Quota,
  now_ms: number,
  spread_ms = 0,
): QuotaLeft {
  const { slots, total } = settle(window, period, now_ms, spread_ms);
  const left = Math.max(0, quota - total);
  let counted = total;
  for (const [index, count] of slots) {
    counted -= count;
    // A quota that was lowered has nothing left for longer than its first slot.
    if (counted >= quota) continue;
    const end_ms = (index + SLOTS_PER_PERIOD + 1) * slotWidth_ms(period);
    return { left, more_ms: Math.ceil(end_ms + spread_ms) };
  }
  return { left, more_ms: undefined };
}

/**
 * Takes a launch back that was counted.
 *
 * @param counted_ms the time at which it was counted
 * @returns the same object when the launch does not count any more, or counts in another slot since the
 * window was settled: that is too strict once, and over after a period
 */
export function withoutOne(window: RateWindow, period: number, counted_ms: number): RateWindow {
  const slot = slotAt(counted_ms, period);
  const at = window.slots.findIndex(([index]) => index === slot);
  const count = window.slots[at]?.[1];
  if (count === undefined) return window;
  return {
    total: window.total - 1,
    slots: count === 1 ? window.slots.toSpliced(at, 1) : window.slots.with(at, [slot, count - 1]),
  };
}

/**
 * Brings a window to the present: it forgets what no longer counts, and launches that lie in the
 * future count as if they were made now. They lie there when the clock was set back since, or when
 * another machine's clock is ahead. That keeps the quota, and what they used comes back within 1.02
 * periods from now, as long as the settled window takes the place of the old one: whoever reads a
 * window from a store should settle it and keep that, even when the launch is then refused.
 *
 * @param period the length of the span, in seconds
 * @param now_ms milliseconds since the epoch
 * @returns the same object when nothing changes
 */
export function settle(
  window: RateWindow | undefined,
  period: number,
  now_ms: number,
  spread_ms = 0,
): RateWindow {
  if (window === undefined) return emptyWindow;
  const current = slotAt(now_ms, period);
  const first = slotAt(now_ms - spread_ms, period) - SLOTS_PER_PERIOD;
  const oldest = window.slots[0]?.[0] ?? current;
  const newest = window.slots.at(-1)?.[0] ?? current;
  if (first <= oldest && newest <= current) return window;

  const present = window.slots.filter(([index]) => first <= index && index < current);
  const now = countOf(window.slots.filter(([index]) => index >= current));
  const slots = now > 0 ? [...present, [current, now] as const] : present;
  return { total: countOf(slots), slots };
}

/** The time of the newest launch that a window counts, in milliseconds since the epoch; 0 when it counts none. */
export function newestTime(window: RateWindow | undefined, period: number): number {
  return (window?.slots.at(-1)?.[0] ?? 0) * slotWidth_ms(period);
}

/** Quotas of one period count the same launches, so the smallest of them decides. */
export function smallestByPeriod(quotas: readonly Quota[]): Quota[] {
  const smallest = new Map<number, number>();
  for (const { period, quota } of quotas) {
    smallest.set(period, Math.min(quota, smallest.get(period) ?? Infinity));
  }
  return [...smallest].map(([period, quota]) => ({ period, quota }));
}

/** Describes the quota that refuses a launch. */
export function describeExhausted({ period, quota }: Quota): string {
  return `The quota is used up: ${quota} launches in ${period} s`;
}

function countOf(slots: readonly RateSlot[]): number {
  return slots.reduce((sum, [, count]) => sum + count, 0);
}

function slotAt(time_ms: number, period: number): number {
  return Math.floor(time_ms / slotWidth_ms(period));
}

/** 20 times a whole number of seconds is a whole number of milliseconds: nothing is rounded. */
function slotWidth_ms(period: number): number {
  return period * 1000 / SLOTS_PER_PERIOD;
}
