/**
 * Finding a trigger of a running service.
 *
 * @module
 */
import type { ShownTrigger } from "../../http/api/triggers.ts";
import { NotFoundError } from "../../platform/errors.ts";
import type { ApiClient } from "./client.ts";

/** The names of triggers in an error about an unknown name. */
const NAMES_SHOWN = 20;

/**
 * Finds a trigger of a running service.
 *
 * @throws {NotFoundError} when no trigger has this name or id
 */
export async function findTrigger(api: ApiClient, nameOrId: string): Promise<ShownTrigger> {
  const triggers = await api.list<ShownTrigger>("triggers/");
  // An id wins: an earlier version took names like ids.
  const found = triggers.find(({ id }) => id === nameOrId) ??
    triggers.find(({ name }) => name === nameOrId.normalize("NFC"));
  if (found) return found;
  const names = triggers.slice(0, NAMES_SHOWN).map(({ name }) => name).join(", ") || "none";
  const more = triggers.length - NAMES_SHOWN;
  const rest = more > 0 ? ` and ${more} more; hooklaunch trigger list shows all` : "";
  throw new NotFoundError(`There is no trigger "${nameOrId}"; there are: ${names}${rest}`);
}
