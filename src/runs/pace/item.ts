/**
 * A run that waits for its turn, in memory.
 *
 * @module
 */
import type { Pace } from "../../store/records/pace.ts";
import type { PendingRun } from "../../store/records/runs.ts";

/** A run that waits for its turn. */
export interface Item {
  readonly id: string;
  readonly triggerId: string;
  /** Its place in the order of acceptance. */
  readonly order: number;
  readonly pace: Pace;
  readonly created_ms: number;
  /** Bytes of its payload. */
  readonly size: number;
  /** The record that it was admitted with, until it is stored as one that waits. */
  record?: PendingRun | undefined;
  /** True once it is to be stored as one that waits. */
  isHeld: boolean;
  /** True once its fate is decided. It waits only until that is stored. */
  isDecided: boolean;
}

/**
 * Makes an item of a pending run.
 *
 * @param order its place in the order of acceptance
 */
export function itemOf(record: PendingRun, order: number): Item {
  const { run: { id, trigger_id, created_at, payload }, pace = {} } = record;
  return {
    id,
    triggerId: trigger_id,
    order,
    pace,
    created_ms: Date.parse(created_at),
    size: payload.size,
    record,
    isHeld: false,
    isDecided: false,
  };
}

/** Returns the name of a key of a trigger. */
export function nameOf(triggerId: string, key: string): string {
  return `${triggerId} ${key}`;
}
