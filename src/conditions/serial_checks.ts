/**
 * Costly checks of one trigger, one at a time.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { UnavailableError } from "../platform/errors.ts";
import { FairQueue } from "../platform/waiting/fair_queue.ts";
import type { Refusal, RunSerially } from "./check.ts";

/** The most checks that wait. A sender's address has at most as many as are left to all others. */
const WAITING_MAX = 32;
/** The pause of an address after a refusal, as a multiple of the time that the check took. */
const PAUSE_FACTOR = 9;
const PAUSE_MS_MAX = 5_000;
const TOO_MANY_WAIT = new UnavailableError(
  "Cannot check a long body: too many requests of the trigger wait",
  1,
);

/**
 * Returns a function that runs one check at a time. The senders' addresses take turns, and pause after a
 * refusal. So a flood of wrong long bodies does not keep a processor busy, and others' bodies go first.
 */
export function serialChecks(clock: Clock): RunSerially {
  const queue = new FairQueue<() => Promise<void>>(WAITING_MAX);
  let isBusy = false;
  let cancelPause = () => {};
  const next = () => {
    if (isBusy) return;
    cancelPause();
    const now_ms = clock.steady();
    const begin = queue.take(now_ms);
    if (begin !== undefined) {
      isBusy = true;
      void begin().then(() => {
        isBusy = false;
        next();
      });
    } else if (queue.restEnd_ms !== undefined) {
      cancelPause = clock.after(queue.restEnd_ms - now_ms, next);
    }
  };
  return (address, check) => {
    const { promise, resolve, reject } = Promise.withResolvers<Refusal | undefined>();
    const begin = async () => {
      const began_ms = clock.steady();
      try {
        const refusal = await check();
        const now_ms = clock.steady();
        const pause_ms = Math.min(PAUSE_MS_MAX, PAUSE_FACTOR * (now_ms - began_ms));
        if (refusal !== undefined) queue.rest(address, now_ms + pause_ms);
        resolve(refusal);
      } catch (error) {
        reject(error);
      }
    };
    if (!queue.add(address, begin)) return Promise.reject(TOO_MANY_WAIT);
    next();
    return promise;
  };
}
