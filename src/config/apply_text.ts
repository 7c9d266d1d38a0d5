/**
 * Applying the text of a configuration file to the database of a service that is starting.
 *
 * @module
 */
import type { Store } from "../store/store.ts";
import type { TriggerRegistry } from "../trigger/registry.ts";
import { type Applied, applyConfig } from "./apply.ts";
import { parseConfig } from "./document.ts";
import { localTarget } from "./local_target.ts";

/**
 * Applies the text of a configuration file.
 *
 * @param path where the text is from
 * @throws {InvalidInputError} with everything that is wrong with it
 */
export async function applyText(
  text: string,
  path: string,
  { store, triggers }: { store: Store; triggers: TriggerRegistry },
): Promise<Applied[]> {
  return await applyConfig(parseConfig(text, path), localTarget(store, triggers));
}
