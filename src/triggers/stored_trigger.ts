/**
 * Triggers as they are stored, read as triggers.
 *
 * @module
 */
import { ConflictError } from "../platform/errors.ts";
import type { Store } from "../store/store.ts";
import { type StoredTrigger, wasTriggerId } from "../store/records/triggers.ts";
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

/** The history of a trigger: when and by whom it was saved, and from which file. Times are RFC 3339. */
type History = Pick<
  Trigger,
  "created_at" | "updated_at" | "moved_at" | "created_by" | "updated_by" | "file"
>;

/** A history whose optional fields may be undefined. */
type LooseHistory =
  & Pick<History, "created_at" | "updated_at">
  & { [Name in keyof History]?: History[Name] | undefined };

/** Returns a stored trigger with its secrets as they are stored. */
export function triggerOf(stored: StoredTrigger): Trigger {
  const { id, revision = 1, settings } = stored;
  // The stored settings have passed the schema.
  const owned = normalSecrets(settings as TriggerSettings);
  return { ...owned, id, ...historyOf(stored), revision };
}

/** Returns the history of a trigger. */
export function historyOf(
  { created_at, updated_at, moved_at, created_by, updated_by, file }: LooseHistory,
): History {
  return {
    created_at,
    updated_at,
    ...(moved_at !== undefined && { moved_at }),
    ...(created_by !== undefined && { created_by }),
    ...(updated_by !== undefined && { updated_by }),
    ...(file !== undefined && { file }),
  };
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

/**
 * Records belong to a trigger by its id: another one of the same id would inherit them.
 *
 * @throws {ConflictError} when a trigger has the id, or had it
 */
export async function expectNewId(store: Store, id: string): Promise<void> {
  if (!await wasTriggerId(store, id)) return;
  throw new ConflictError(
    `Cannot save the trigger: the id ${id} is or was that of another one. Leave it out, or choose another`,
  );
}
