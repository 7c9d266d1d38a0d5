/**
 * Failures of a fetch that may be over the next time, and trying again because of them.
 *
 * @module
 */

import { pause } from "../../../platform/waiting/pause.ts";

/** The longest wait that a server is granted, in milliseconds. */
const WAIT_MAX_MS = 30_000;

/** What failed may not fail again. */
export class TransientError extends Error {
  override readonly name = "TransientError";

  /** @param wait_ms how long the server wants to be left alone, in milliseconds, if it says so */
  constructor(message: string, readonly wait_ms?: number) {
    super(message);
  }
}

/** How work is tried. */
export interface TryOptions {
  /** How long to wait after each try that failed, in milliseconds; the last try is one more. */
  backoff_ms: readonly number[];
  /** Aborted when the work is not wanted any more. */
  signal: AbortSignal;
  /** Told before each wait. */
  onWait(error: TransientError, wait_ms: number): void;
}

/** Does work, again when a {@linkcode TransientError} ends it. */
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
      await pause(wait_ms, signal);
      signal.throwIfAborted();
    }
  }
  return await work();
}

/** The wait that a `Retry-After` header asks for (RFC 9110 section 10.2.3), in milliseconds. */
export function retryAfter_ms(header: string | undefined, now_ms: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  // Much that is no HTTP date is one for JavaScript.
  const date_ms = header.endsWith(" GMT") ? Date.parse(header) : NaN;
  return Number.isNaN(date_ms) ? undefined : Math.max(0, date_ms - now_ms);
}
