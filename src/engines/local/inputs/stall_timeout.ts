/**
 * Telling those who wait for a file when nothing comes of it: without a word, a host that is silent looks
 * like one that is slow.
 *
 * @module
 */
import type { Waiter } from "./shared_work.ts";

/**
 * Passes on what a waiter is told, and tells it when nothing has come for a while, once until something
 * comes again. Disposing of it ends that.
 *
 * @param silence_ms how long nothing has come at least when it is told
 */
export function tellingSilence(waiter: Waiter, silence_ms: number): Waiter & Disposable {
  let isSilent = false;
  let isTold = false;
  const timer = setInterval(() => {
    if (isSilent && !isTold) {
      waiter.onNote(
        `nothing has come for ${
          silence_ms / 1_000
        } s; it is waited for until inputs.timeout is over`,
      );
      isTold = true;
    }
    isSilent = true;
  }, silence_ms);
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
