/** Removes the entries of a map or a set that were added first, until it has at most `sizeMax`. */
export function evictOldest<T>(kept: Map<T, unknown> | Set<T>, sizeMax: number): void {
  for (const oldest of kept.keys()) {
    if (kept.size <= sizeMax) break;
    kept.delete(oldest);
  }
}

/** Returns the value of a key, makes it where none is kept, and keeps it as the newest. */
export function keepNewest<Key, Value>(
  kept: Map<Key, Value>,
  key: Key,
  { size_max, make }: { size_max: number; make: () => Value },
): Value {
  const value = kept.get(key) ?? make();
  kept.delete(key);
  kept.set(key, value);
  evictOldest(kept, size_max);
  return value;
}
