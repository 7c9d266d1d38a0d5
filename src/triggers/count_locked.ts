/**
 * Counting the triggers with secrets that cannot be decrypted.
 *
 * @module
 */
import type { ConditionEnvironment } from "../conditions/condition.ts";
import type { Store } from "../store/store.ts";
import { allStoredTriggers, noneLockedWith, putNoneLockedWith } from "../store/records/triggers.ts";
import { openWhatOpens, type SecretBox } from "./secrets.ts";

/** The number of triggers with locked secrets, and of all. */
export type LockedTriggers = { locked: number; total: number } | "none";

/** The parts of the service that are counted in. */
interface CountParts {
  store: Store;
  secrets: SecretBox;
  context: Pick<ConditionEnvironment, "signal">;
}

/**
 * Counts the triggers, and those with secrets that cannot be decrypted with this key. If an earlier count
 * with the same keys found none, none is locked now, and the triggers are not read. Pauses after each
 * page: launches come first.
 */
export async function countLocked(
  { store, secrets, context }: CountParts,
): Promise<LockedTriggers> {
  if (await noneLockedWith(store) === secrets.fingerprint) return "none";
  let locked = 0;
  let total = 0;
  for await (const stored of allStoredTriggers(store, { rests: true })) {
    if (context.signal.aborted) return { locked, total };
    const opened = openWhatOpens(stored.settings, secrets, stored.id);
    if (opened.locked.length > 0) locked++;
    total++;
  }
  await putNoneLockedWith(store, locked > 0 ? undefined : secrets.fingerprint);
  return { locked, total };
}
