/**
 * The dismissals of warnings: who has said why a weakness of a trigger's set-up needs no attention.
 *
 * @module
 */
import { keys } from "../keys.ts";
import { recordOf } from "../read/lists.ts";
import { scan } from "../read/scan.ts";
import type { Store } from "../store.ts";
import type { Author } from "./audit.ts";
import { recordWrite } from "./record_size.ts";

/** The dismissal of one warning. */
export interface Dismissal {
  /** The id of the warning: another one when what it says changes. */
  id: string;
  /** The warning. */
  text: string;
  reason: string;
  author: Pick<Author, "name" | "id">;
  /** RFC 3339. */
  time: string;
}

/** Reads the dismissed warnings of a trigger, by the warnings' ids. */
export async function dismissalsOf(
  store: Store,
  triggerId: string,
): Promise<ReadonlyMap<string, Dismissal>> {
  const found = new Map<string, Dismissal>();
  for await (const entry of scan(store.kv, ["dismissal", triggerId])) {
    const dismissal = recordOf<Dismissal>(entry);
    if (dismissal !== undefined) found.set(dismissal.id, dismissal);
  }
  return found;
}

/**
 * Stores a dismissal.
 *
 * @param current the ids of the trigger's warnings: dismissals of others end, so that they do not pile up
 */
export async function putDismissal(
  store: Store,
  triggerId: string,
  dismissal: Dismissal,
  current: ReadonlySet<string>,
): Promise<void> {
  const before = await dismissalsOf(store, triggerId);
  const over = [...before.keys()].filter((id) => !current.has(id));
  await store.committer.write([
    ...over.map((id) => ({ key: keys.dismissal(triggerId, id) })),
    recordWrite(keys.dismissal(triggerId, dismissal.id), dismissal),
  ]);
}

/** Removes a dismissal. */
export async function removeDismissal(store: Store, triggerId: string, id: string): Promise<void> {
  await store.committer.write([{ key: keys.dismissal(triggerId, id) }]);
}
