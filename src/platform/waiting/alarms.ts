/**
 * Calls at times of the wall clock, by names.
 *
 * @module
 */
import type { Clock } from "../clock.ts";

/** The longest wait at once: a longer one overflows a timer, and a clock that was set is noticed. */
const WAIT_MS_MAX = 60 * 60_000;

/** The calls that are to come. */
export class Alarms {
  readonly #clock: Clock;
  readonly #cancels = new Map<string, () => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Makes a call at a time, in place of the one of this name. */
  set(name: string, at_ms: number, call: () => void): void {
    this.#cancels.get(name)?.();
    const left_ms = Math.max(0, at_ms - this.#clock.now());
    const cancel = this.#clock.after(Math.min(left_ms, WAIT_MS_MAX), () => {
      if (this.#clock.now() < at_ms) return this.set(name, at_ms, call);
      this.#cancels.delete(name);
      call();
    });
    this.#cancels.set(name, cancel);
  }

  /** Makes no call of this name any more; returns whether there was one to come. */
  cancel(name: string): boolean {
    this.#cancels.get(name)?.();
    return this.#cancels.delete(name);
  }

  /** Makes no call any more. */
  close(): void {
    for (const cancel of this.#cancels.values()) cancel();
    this.#cancels.clear();
  }
}
