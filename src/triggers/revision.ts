/**
 * Revisions of triggers: a client that names the revision that it has read does not overwrite a later one.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { ChangedError, type Problem } from "../platform/errors.ts";
import { differencesOf } from "../platform/schema/differences.ts";
import { withoutNulls } from "../platform/schema/nulls.ts";
import type { Author } from "../store/records/audit.ts";
import { type Mark, maskSecrets } from "./secret_masks.ts";
import type { Trigger, TriggerSettings } from "./trigger.ts";

/** The terms of a change. */
export interface SaveOptions {
  /** The revisions of which the record must have one; any one when undefined. */
  expected?: readonly number[] | undefined;
  /** The operator who makes it. */
  author?: Author | undefined;
  /** The configuration file that it comes from, which owns the trigger then. Without one the owner stays. */
  file?: string | undefined;
  /** Validates the change and returns its result, and stores nothing. */
  isDryRun?: boolean;
  /** Rejects where the author may not save this. */
  authorize?(written: TriggerSettings, current: Trigger | undefined): Promise<void>;
  /** Takes the warnings about secrets that are shown to nobody afterwards. */
  onWarnings?(warnings: readonly Problem[]): void;
  /** Takes warnings that name other triggers; without it, no secrets of others are compared. */
  onSharedSecrets?(warnings: readonly Problem[]): void;
}

/** Returns the part of a trigger that its owner writes. */
export function settingsOf(trigger: Trigger): TriggerSettings {
  const { created_at: _created, updated_at: _updated, moved_at: _moved, ...more } = trigger;
  const { created_by: _creator, updated_by: _author, file: _file, ...rest } = more;
  const { revision: _revision, ...settings } = rest;
  return settings;
}

/** Returns the name of the field of a trigger that a pointer leads into. */
export function nameAt(at: string): string {
  return at.split("/")[1] ?? "";
}

/** Returns true when settings are those of a trigger. */
export function isSame(settings: TriggerSettings, current: Trigger): boolean {
  // The id may be written or left out.
  const { id: _id, ...written } = settings;
  const { id: _currentId, ...known } = settingsOf(current);
  return isDeepStrictEqual(written, known);
}

/**
 * Expects a trigger to have one of some revisions.
 *
 * @param current the stored trigger, its secrets masked
 * @param expected undefined for any revision
 * @param change the new version, not validated yet; undefined for a deletion
 * @throws {ChangedError} with the differences of the two versions, when it has another revision
 */
export async function expectRevision(
  current: Trigger,
  expected: readonly number[] | undefined,
  change?: { written: unknown; mark: Mark },
): Promise<void> {
  if (expected === undefined || expected.includes(current.revision)) return;
  throw new ChangedError(
    `Cannot change trigger "${current.name}": it has revision ${current.revision} by now. ` +
      "Read it again, and repeat the change with its ETag",
    change === undefined ? [] : await differences(current, change),
  );
}

async function differences(
  current: Trigger,
  { written, mark }: { written: unknown; mark: Mark },
): Promise<Problem[]> {
  const { triggerSchema } = await import("./trigger.ts");
  const sent = triggerSchema.safeParse(withoutNulls(triggerSchema, written));
  if (!sent.success) return [];
  // A version to be saved may name its id or not.
  const { id: _id, ...fields } = maskSecrets(sent.data, mark);
  const { id: _storedId, ...stored } = settingsOf(current);
  return differencesOf(stored, fields);
}
