/**
 * Whether the key file of a data folder is the key of its secrets. Where `HOOKLAUNCH_SECRET_KEY` is, a
 * file may lie there that opens nothing, and who makes the backup need not have the variable: the
 * secrets themselves tell.
 *
 * @module
 */
import { InvalidInputError } from "../platform/errors.ts";
import { storedRecords } from "../store/lists.ts";
import type { Store } from "../store/store.ts";
import { KEY_FILE, parseKeyFile } from "../triggers/secret_key.ts";
import { mapLiterals, secretBox, tryOpen } from "../triggers/secrets.ts";

/** How many of the stored secrets a key opens, and how many not. */
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
  return use;
}

/** Undefined when the file holds something else: nobody needs it while a variable has the key. */
function boxOf(text: string): ReturnType<typeof secretBox> | undefined {
  try {
    return secretBox(parseKeyFile(text, KEY_FILE));
  } catch (error) {
    if (error instanceof InvalidInputError) return undefined;
    throw error;
  }
}
