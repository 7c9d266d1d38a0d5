/**
 * Checks that the key file of a data folder opens its secrets. Where `HOOKLAUNCH_SECRET_KEY` is used, the
 * folder may hold a file that opens nothing, and the process that makes the backup may not have the
 * variable. So the key is tried on the secrets themselves.
 *
 * @module
 */
import { InvalidInputError } from "../platform/errors.ts";
import { ownerOf } from "../project_secrets/settings.ts";
import { storedRecords } from "../store/read/lists.ts";
import { listProjects } from "../store/records/projects.ts";
import type { Store } from "../store/store.ts";
import { KEY_FILE, parseKeyFile } from "../triggers/secret_key.ts";
import { isReference, mapLiterals, secretBox, tryOpen } from "../triggers/secrets.ts";

/** Numbers of stored secrets that a key opens and does not open. */
export interface KeyUse {
  opened: number;
  locked: number;
}

/** Tries the text of a key file on all stored secrets. */
export async function tryKey(store: Store, text: string): Promise<KeyUse> {
  const box = boxOf(text);
  const use: KeyUse = { opened: 0, locked: 0 };
  for await (const { id, value } of storedRecords(store, "trigger")) {
    mapLiterals(value, (secret) => {
      const isOpened = box && tryOpen(secret, box, id) !== undefined;
      use[isOpened ? "opened" : "locked"]++;
      return secret;
    });
  }
  const ofProjects = Array.from(await listProjects(store), ({ name, secrets = [] }) => {
    return secrets.map(({ value }) => ({ value, owner: ownerOf(name) }));
  });
  for (const { value, owner } of ofProjects.flat()) {
    if (isReference(value)) continue;
    const isOpened = box && tryOpen(value, box, owner) !== undefined;
    use[isOpened ? "opened" : "locked"]++;
  }
  return use;
}

/** Returns undefined when the file holds no key: it is not used while a variable holds the key. */
function boxOf(text: string): ReturnType<typeof secretBox> | undefined {
  try {
    return secretBox(parseKeyFile(text, KEY_FILE));
  } catch (error) {
    if (error instanceof InvalidInputError) return undefined;
    throw error;
  }
}
