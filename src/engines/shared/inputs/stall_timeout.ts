/**
 * Reports a stalled fetch. Without it a silent host looks like a slow one.
 *
 * @module
 */
import type { Waiter } from "./shared_work.ts";

/**
 * Wraps a waiter so that it also gets a note when no byte arrives for a while: one note for each stall.
 * Disposing of the result ends that.
 *
 * @param stall_timeout_ms the shortest stall that is reported
 */
export function reportStall(waiter: Waiter, stall_timeout_ms: number): Waiter & Disposable {
  let isSilent = false;
  let isTold = false;
  const timer = setInterval(() => {
    if (isSilent && !isTold) {
      waiter.onNote(
        `no data for ${stall_timeout_ms / 1_000} s; the fetch goes on until inputs.timeout is over`,
      );
      isTold = true;
    }
    isSilent = true;
  }, stall_timeout_ms);
  return {
    signal: waiter.signal,
    onBytes(total) {
      isSilent = isTold = false;
      waiter.onBytes(total);
    },
    onNote: (message) => waiter.onNote(message),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
