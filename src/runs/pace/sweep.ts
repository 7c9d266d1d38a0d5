/**
 * Looking at many things again and again.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";
import { every } from "../../platform/waiting/timers.ts";

/**
 * Looks at each of some ids, now and after each pause, one after the other: there may be many, and launches go
 * first.
 *
 * @param look never rejects
 * @returns ends it
 */
export function sweepEach(
  clock: Clock,
  pause_ms: number,
  { ids, look }: { ids: () => Iterable<string>; look: (id: string) => Promise<void> },
): () => void {
  let isUnderWay = false;
  let hasEnded = false;
  const sweep = async () => {
    if (isUnderWay) return;
    isUnderWay = true;
    for (const id of [...ids()]) if (!hasEnded) await look(id);
    isUnderWay = false;
  };
  void sweep();
  const endSweeps = every(clock, pause_ms, () => void sweep());
  return () => {
    hasEnded = true;
    endSweeps();
  };
}
