/**
 * The times at which a scheduled backup is made, and proven.
 *
 * @module
 */
import type { BackupState } from "../../store/records/backups.ts";

/** A look each minute makes the backup of a time that is nearer than the next look. */
const LOOK_MS = 30_000;
/** The newest backup is proven again after this time. */
export const PROOF_EVERY_MS = 24 * 3_600_000;

/** Returns true when a backup is to be made. */
export function isMakeDue(
  { last, failure }: BackupState,
  every_ms: number,
  time_ms: number,
): boolean {
  const now_ms = time_ms + LOOK_MS;
  if (failure !== undefined) return now_ms >= Date.parse(failure.next_at);
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
  const isTooEarly = proof_failure?.name === last.name &&
    now_ms < Date.parse(proof_failure.next_at);
  if (isTooEarly) return false;
  return proof?.name !== last.name || isOver(proof.proven_at, PROOF_EVERY_MS, now_ms);
}

/** Returns true when more than a span has passed since a time. */
export function isOver(time: string, span_ms: number, now_ms: number): boolean {
  return now_ms - Date.parse(time) > span_ms;
}
