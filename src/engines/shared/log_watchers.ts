/**
 * The watchers of logs, which wait for more lines.
 *
 * @module
 */

/** Calls those who watch the log of an execution. */
export class LogWatchers {
  readonly #watchers = new Map<string, Set<() => void>>();

  /** Adds a watcher. Returns a function that removes it. */
  add(executionId: string, onGrowth: () => void): () => void {
    const watchers = this.#watchers.get(executionId) ?? new Set();
    this.#watchers.set(executionId, watchers.add(onGrowth));
    return () => {
      watchers.delete(onGrowth);
      if (watchers.size === 0 && this.#watchers.get(executionId) === watchers) {
        this.#watchers.delete(executionId);
      }
    };
  }

  /** Calls the watchers of a log: it may have grown, or its execution may have ended. */
  call(executionId: string): void {
    for (const onGrowth of this.#watchers.get(executionId) ?? []) onGrowth();
  }
}
