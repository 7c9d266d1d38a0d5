/**
 * Maps and sets that hold only so much.
 *
 * @module
 */

/** Removes what was added first, until there are so many at most. */
export function keepNewest<T>(kept: Map<T, unknown> | Set<T>, countMax: number): void {
  for (const oldest of kept.keys()) {
    if (kept.size <= countMax) break;
    kept.delete(oldest);
  }
}
