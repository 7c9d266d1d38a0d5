/**
 * Saving notifiers.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { ConflictError } from "../platform/errors.ts";
import {
  listNotifiers,
  nextNotifier,
  notifierChangeWrite,
  type NotifierSettings,
  notifierWrites,
  type StoredNotifier,
} from "../store/records/notifiers.ts";
import type { Store } from "../store/store.ts";
import type { Notifications } from "./notifications.ts";
import type { NotifierSecrets } from "./secrets.ts";

/** The notifiers of a service, at most. */
const NOTIFIERS_MAX = 50;

/** The parts of a service that saving uses. */
interface SaveParts {
  store: Store;
  clock: Clock;
  notifications: Pick<Notifications, "changed">;
  notifierSecrets: NotifierSecrets;
}

/**
 * Saves a notifier. Call it while no trigger changes.
 *
 * @throws {ConflictError} when there are too many
 */
export async function saveNotifier(
  made: NotifierSettings,
  before: StoredNotifier | undefined,
  { store, clock, notifications, notifierSecrets }: SaveParts,
  isDryRun = false,
): Promise<StoredNotifier> {
  const sealed = notifierSecrets.sealed(made, before);
  const after = nextNotifier(before, sealed, new Date(clock.now()).toISOString());
  if (before === undefined && (await listNotifiers(store)).length >= NOTIFIERS_MAX) {
    throw new ConflictError(
      `Cannot create the notifier: there are ${NOTIFIERS_MAX} already. Delete one first`,
    );
  }
  if (isDryRun || after === before) return after;
  await store.committer.write([...notifierWrites(after), await notifierChangeWrite(store)]);
  await notifications.changed();
  return after;
}
