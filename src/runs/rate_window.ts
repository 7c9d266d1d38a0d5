/**
 * The sliding window that counts launches for rate limits.
 *
 * It counts by slots of a fiftieth of the period. A launch counts until a whole period has gone by
 * since the last launch of its slot. So no span of `period` seconds, wherever it begins, holds more
 * than `quota` launches, what a launch used comes back no later than 1.02 periods after it, and who is
 * refused never waits for longer than a period.
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
  const after_ms = timeAfter(now_ms);
  return {
    total: total + 1,
    slots: newest?.[0] === current
      ? slots.with(-1, [current, newest[1] + 1, Math.max(after_ms, endOf(newest, limit.period))])
      : [...slots, [current, 1, after_ms]],
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
  for (const slot of slots) {
    counted -= slot[1];
    // A quota that was lowered has nothing left for longer than its first slot.
    if (counted >= quota) continue;
    return { left, more_ms: Math.ceil(endOf(slot, period) + period * 1000 + spread_ms) };
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
  const index = slotAt(counted_ms, period);
  const at = window.slots.findIndex((slot) => slot[0] === index);
  const slot = window.slots[at];
  if (slot === undefined) return window;
  const [, count, ...end] = slot;
  return {
    total: window.total - 1,
    slots: count === 1
      ? window.slots.toSpliced(at, 1)
      : window.slots.with(at, [index, count - 1, ...end]),
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
  const since_ms = now_ms - spread_ms - period * 1000;
  const [oldest] = window.slots;
  const newest = window.slots.at(-1);
  if (oldest === undefined || newest === undefined) return window;
  if (since_ms < endOf(oldest, period) && newest[0] <= current) return window;

  const present = window.slots.filter((slot) =>
    slot[0] <= current && since_ms < endOf(slot, period)
  );
  const future = countOf(window.slots.filter(([index]) => index > current));
  const slots = future > 0 ? withMore(present, future, { current, now_ms, period }) : present;
  return { total: countOf(slots), slots };
}

/** Adds launches to the slot of the present. */
function withMore(
  slots: readonly RateSlot[],
  more: number,
  { current, now_ms, period }: { current: number; now_ms: number; period: number },
): RateSlot[] {
  const others = slots.filter(([index]) => index < current);
  const own = slots.find(([index]) => index === current);
  const ends_ms = [timeAfter(now_ms), ...own ? [endOf(own, period)] : []];
  return [...others, [current, more + (own?.[1] ?? 0), Math.max(...ends_ms)]];
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

/** The first whole millisecond after a time. */
function timeAfter(now_ms: number): number {
  return Math.floor(now_ms) + 1;
}

/** A time after all launches of a slot: at most the slot's end, whatever is stored. */
function endOf([index, , after_ms = Infinity]: RateSlot, period: number): number {
  return Math.min(after_ms, (index + 1) * slotWidth_ms(period));
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
