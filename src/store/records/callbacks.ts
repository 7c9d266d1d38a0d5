/**
 * The list of ended runs whose callbacks are not sent yet.
 *
 * @module
 */
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { scan } from "../read/scan.ts";
import type { Store } from "../store.ts";

/** The ids of ended runs whose callbacks are not made yet, oldest first. */
export async function dueCallbacks(store: Store): Promise<string[]> {
  const ids: string[] = [];
  for await (const { key } of scan(store.kv, ["callback_due"])) ids.push(String(key[1]));
  return ids;
}

/** The write that takes a run off the list. */
export function callbackMadeWrite(runId: string): Write {
  return { key: keys.callbackDue(runId) };
}
