/**
 * Work for which there may be too few files or processes for a while.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import { isShortage } from "../../platform/errors.ts";

/** Delay before the next try. */
const RETRY_MS = 1_000;

interface ShortageOptions {
  /** Runs in place of work that failed for lack of files or processes. */
  again(): Promise<void>;
  /** Told each time. */
  onShortage(error: unknown): void;
  /** Aborted when it is not to be gone on with. */
  signal: AbortSignal;
}

/** Does work, and goes on with it for as long as it fails for want of files or processes. */
export async function retryOnShortage(
  work: () => Promise<void>,
  { again, onShortage, signal }: ShortageOptions,
): Promise<void> {
  for (;; work = again) {
    try {
      return await work();
    } catch (error) {
      if (!isShortage(error)) throw error;
      onShortage(error);
      await delay(RETRY_MS, { signal }).catch(() => {});
      if (signal.aborted) return;
    }
  }
}
