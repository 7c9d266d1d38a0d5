/**
 * Waiting for the end of an execution, a pipeline, a run's work, a replay or a backup.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import { isPassing } from "./client.ts";

/** The first pause is short, since most of what is waited for by a script is. */
const POLL_MS_FIRST = 50;
const POLL_MS_MAX = 1_000;
/** The time that a service may not answer, such as while it restarts. */
const PATIENCE_MS = 60_000;

/** The record that is waited for. */
interface Awaited<T> {
  read(): Promise<T>;
  hasEnded(record: T): boolean;
  /**
   * Called with each state that was read, and with the one before. The next is read when it is done. Where it
   * fails since the service does not answer, it is called again, with a newer state and the same one before.
   */
  onRead?(record: T, before: T | undefined): void | Promise<void>;
}

/**
 * Reads a record until it has ended.
 *
 * @throws {ApiError} when the service does not answer for a minute, or there is no such record
 */
export async function untilEnded<T>({ read, hasEnded, onRead }: Awaited<T>): Promise<T> {
  let before: T | undefined;
  let wasAnswered = false;
  let lost_ms: number | undefined;
  for (let pause_ms = POLL_MS_FIRST;; pause_ms = Math.min(POLL_MS_MAX, pause_ms * 1.5)) {
    try {
      const now = await read();
      wasAnswered = true;
      await onRead?.(now, before);
      if (hasEnded(now)) return now;
      before = now;
      lost_ms = undefined;
    } catch (error) {
      // What is done with a record may have taken hours.
      lost_ms ??= performance.now();
      const isOver = performance.now() - lost_ms > PATIENCE_MS;
      if (!wasAnswered || !isPassing(error) || isOver) throw error;
    }
    await delay(pause_ms);
  }
}
