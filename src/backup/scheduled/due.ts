/**
 * The times at which a scheduled backup is made, and proven.
 *
 * @module
 */
import type { BackupFailure, BackupState } from "../../store/records/backups.ts";

/** A look each minute makes the backup of a time that is nearer than the next look. */
const LOOK_MS = 30_000;
/** The newest backup is proven again after this time. */
export const PROOF_EVERY_MS = 24 * 3_600_000;
/** The longest wait after a failure. */
export const RETRY_MS_MAX = 3_600_000;

/** Returns true when a backup is to be made. */
export function isMakeDue(
  { last, failure }: BackupState,
  every_ms: number,
  time_ms: number,
): boolean {
  const now_ms = time_ms + LOOK_MS;
  if (failure !== undefined) return !isWaiting(failure, now_ms);
  if (last === undefined) return true;
  // A clock that has jumped back does not keep backups from being made.
  return Math.abs(now_ms - Date.parse(last.made_at)) >= every_ms;
}

/** Returns true when the newest backup is to be proven. */
export function isProofDue(
  { last, proof, proof_failure, damaged }: BackupState,
  now_ms: number,
): boolean {
  if (last === undefined || damaged.includes(last.name)) return false;
  if (proof_failure?.name === last.name && isWaiting(proof_failure, now_ms)) return false;
  return proof?.name !== last.name || isOver(proof.proven_at, PROOF_EVERY_MS, now_ms);
}

/** Returns true before the next try. One that is farther away is of a clock that was wrong. */
function isWaiting({ next_at }: BackupFailure, now_ms: number): boolean {
  const left_ms = Date.parse(next_at) - now_ms;
  return left_ms > 0 && left_ms <= RETRY_MS_MAX;
}

/** Returns true when more than a span has passed since a time. */
export function isOver(time: string, span_ms: number, now_ms: number): boolean {
  return now_ms - Date.parse(time) > span_ms;
}
