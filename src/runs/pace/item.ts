/**
 * A run that waits for its turn, in memory. A hundred thousand may wait, so it is small.
 *
 * @module
 */
import type { PendingRun } from "../../store/records/runs.ts";
import type { KnownPace } from "./known_paces.ts";

/** A run that waits for its turn. */
export class Item {
  readonly id: string;
  /** Its place in the order of acceptance. */
  readonly order: number;
  readonly created_ms: number;
  /** The time before which it is not performed; 0 where that is any time. */
  readonly due_ms: number;
  /** Bytes of its payload. */
  readonly size: number;
  readonly known: KnownPace;
  /** The record that it was admitted with, until it is stored as one that waits. */
  record: PendingRun | undefined;
  /** True once it is to be stored as one that waits. */
  isHeld = false;
  /** True once its fate is decided. It waits only until that is stored. */
  isDecided = false;

  constructor(record: PendingRun, order: number, known: KnownPace) {
    const { run: { id, created_at, payload }, pace } = record;
    this.id = id;
    this.order = order;
    this.created_ms = Date.parse(created_at);
    this.due_ms = pace?.due_ms ?? 0;
    this.size = payload.size;
    this.known = known;
    this.record = record;
  }

  get triggerId(): string {
    return this.known.triggerId;
  }

  get pace(): KnownPace["pace"] {
    return this.known.pace;
  }
}

/** Returns the name of a key of a trigger. */
export function nameOf(triggerId: string, key: string): string {
  return `${triggerId} ${key}`;
}
