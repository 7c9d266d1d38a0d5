/**
 * Waiting for runs to end.
 *
 * @module
 */

/** Tells those who wait for a run that it has ended. */
export class Endings {
  readonly #watchers = new Map<string, Set<() => void>>();

  /**
   * Waits until a run is told of.
   *
   * @param hasEnded looks whether it has ended already: it may have, between the caller's look and this
   * call
   * @returns false when the signal aborted before
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
  tell(runId: string): void {
    for (const tell of this.#watchers.get(runId) ?? []) tell();
  }
}
