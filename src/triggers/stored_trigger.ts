/**
 * Triggers as they are stored, read as triggers.
 *
 * @module
 */
import type { StoredTrigger } from "../store/records/triggers.ts";
import { normalSecrets } from "./secret_masks.ts";
import type { Trigger, TriggerSettings } from "./trigger.ts";

/** The name and the project of a trigger. */
export interface Labels {
  name: string;
  project: string;
  /** The time at which it was made, in milliseconds since the epoch. */
  created_ms: number;
  /** The time at which it came into its project; undefined when it was made there. */
  moved_ms?: number;
}

/** The times of a trigger (RFC 3339). */
type Times = Pick<Trigger, "created_at" | "updated_at" | "moved_at">;

/** Returns a stored trigger with its secrets as they are stored. */
export function triggerOf(stored: StoredTrigger): Trigger {
  const { id, created_at, updated_at, moved_at, revision = 1, settings } = stored;
  // The stored settings have passed the schema.
  const owned = normalSecrets(settings as TriggerSettings);
  return { ...owned, id, ...timesOf({ created_at, updated_at, moved_at }), revision };
}

/** Returns the times of a trigger. */
export function timesOf(
  { created_at, updated_at, moved_at }: Omit<Times, "moved_at"> & { moved_at: string | undefined },
): Times {
  return { created_at, updated_at, ...(moved_at !== undefined && { moved_at }) };
}

/** Returns the name and the project of a trigger. */
export function labelsOf({ name, project, created_at, moved_at }: Trigger): Labels {
  return {
    name,
    project,
    created_ms: Date.parse(created_at),
    ...(moved_at !== undefined && { moved_ms: Date.parse(moved_at) }),
  };
}
