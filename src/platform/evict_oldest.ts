/** Removes the entries of a map or a set that were added first, until it has at most `sizeMax`. */
export function evictOldest<T>(kept: Map<T, unknown> | Set<T>, sizeMax: number): void {
  for (const oldest of kept.keys()) {
    if (kept.size <= sizeMax) break;
    kept.delete(oldest);
  }
}
