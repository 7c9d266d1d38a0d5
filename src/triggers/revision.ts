/**
 * Revisions of triggers: a client that names the revision that it has read does not overwrite a later one.
 *
 * @module
 */
import { ChangedError } from "../platform/errors.ts";
import { differencesOf } from "../platform/schema/differences.ts";
import { withoutNulls } from "../platform/schema/nulls.ts";
import { maskSecrets } from "./secrets.ts";
import type { Trigger, TriggerSettings } from "./trigger.ts";

/** Returns the part of a trigger that its owner writes. */
export function settingsOf(trigger: Trigger): TriggerSettings {
  const { created_at: _created, updated_at: _updated, revision: _revision, ...settings } = trigger;
  return settings;
}

/**
 * Expects a trigger to have one of some revisions.
 *
 * @param expected undefined for any revision
 * @param written the new version, not validated yet; undefined for a deletion
 * @throws {ChangedError} with the differences of the two versions, when it has another revision
 */
export async function expectRevision(
  current: Trigger,
  expected: readonly number[] | undefined,
  written?: unknown,
): Promise<void> {
  if (expected === undefined || expected.includes(current.revision)) return;
  throw new ChangedError(
    `Cannot change trigger "${current.name}": it has revision ${current.revision} by now. ` +
      "Read it again, and repeat the change with its ETag",
    written === undefined ? [] : await differences(current, written),
  );
}

async function differences(current: Trigger, written: unknown) {
  const { triggerSchema } = await import("./trigger.ts");
  const sent = triggerSchema.safeParse(withoutNulls(triggerSchema, written));
  if (!sent.success) return [];
  // A version to be saved may name its id or not.
  const { id: _id, ...fields } = maskSecrets(sent.data);
  const { id: _storedId, ...stored } = maskSecrets(settingsOf(current));
  return differencesOf(stored, fields);
}
