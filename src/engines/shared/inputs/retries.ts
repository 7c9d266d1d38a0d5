/**
 * Retries of a fetch.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import { TransientError } from "../../../platform/network/fetch_errors.ts";

/** The longest pause that a server can ask for, in milliseconds. */
const WAIT_MAX_MS = 30_000;

interface TryOptions {
  /** The pause after each failed try, in milliseconds. One more try follows the last pause. */
  backoff_ms: readonly number[];
  /** Aborted when the work is not needed any more. */
  signal: AbortSignal;
  /** Called before each pause. */
  onWait(error: TransientError, wait_ms: number): void;
}

/** Does work, and retries it after a {@linkcode TransientError}. */
export async function withRetries<T>(work: () => Promise<T>, options: TryOptions): Promise<T> {
  const { backoff_ms, signal, onWait } = options;
  for (const pause_ms of backoff_ms) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TransientError)) throw error;
      const wait_ms = Math.min(error.wait_ms ?? pause_ms, WAIT_MAX_MS);
      onWait(error, wait_ms);
      await delay(wait_ms, { signal }).catch(() => {});
      signal.throwIfAborted();
    }
  }
  return await work();
}
