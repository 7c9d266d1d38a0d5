/**
 * How figures are told.
 *
 * @module
 */

/** How many, and how long they took. */
export function times(values_ms: readonly number[]): string {
  const sorted = values_ms.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
  return `${values_ms.length}, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, at most ${at(1)} ms`;
}

/** The largest; 0 when there is none. */
export function largest(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), 0);
}

/** Bytes in MiB. */
export function mib(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}
