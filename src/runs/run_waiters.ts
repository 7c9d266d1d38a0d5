/**
 * Waiters for the ends of runs.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { pause } from "../platform/waiting/timers.ts";

/** Pause between two looks for the end of a run that another instance performs. */
const LOOK_MS = 250;

/**
 * Looks again and again until something holds.
 *
 * @returns false when the signal aborted first
 */
export async function pollUntil(
  holds: () => Promise<boolean>,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  while (!signal.aborted) {
    if (await holds()) return true;
    await pause(clock, LOOK_MS, signal);
  }
  return false;
}

/** Notifies waiters when a run ends. */
export class RunWaiters {
  readonly #watchers = new Map<string, Set<() => void>>();

  /**
   * Waits until a run ends.
   *
   * @param hasEnded returns true when it has ended already, which may be between the caller's check and this
   * call
   * @returns false when the signal aborted first
   */
  async wait(
    runId: string,
    hasEnded: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (signal.aborted) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const onEnd = () => resolve(true);
    const onAbort = () => resolve(false);
    const watchers = this.#watchers.get(runId) ?? new Set();
    this.#watchers.set(runId, watchers.add(onEnd));
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await hasEnded() || await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      watchers.delete(onEnd);
      if (watchers.size === 0) this.#watchers.delete(runId);
    }
  }

  /** Tells that a run has ended. */
  notify(runId: string): void {
    for (const notify of this.#watchers.get(runId) ?? []) notify();
  }
}
